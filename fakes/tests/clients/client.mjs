// The Node client lists, watches, patches and binds. KUBECONFIG says where.
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const namespace = 'default';

function must(what, holds) {
  if (!holds) {
    console.error(`not so: ${what}`);
    process.exit(1);
  }
  console.log(`  ${what}`);
}

const pod = (name) => ({
  metadata: { name },
  spec: { schedulerName: 'somebody', containers: [{ name: 'main', image: 'pause' }] },
});

await core.createNode({ body: { metadata: { name: 'node-node' } } });
const seen = [];
const { metadata } = await core.listNamespacedPod({ namespace });
const watch = new k8s.Watch(config);
const request = await watch.watch(
  `/api/v1/namespaces/${namespace}/pods`,
  { resourceVersion: metadata.resourceVersion },
  (type, object) => seen.push(`${type} ${object.metadata.name} ${object.spec.nodeName ?? ''}`),
  () => {},
);
for (const name of ['node-0', 'node-1', 'node-2']) {
  await core.createNamespacedPod({ namespace, body: pod(name) });
}
const page = await core.listNamespacedPod({ namespace, limit: 2 });
const rest = await core.listNamespacedPod({ namespace, limit: 2, _continue: page.metadata._continue });
must('lists in pages', page.items.length === 2 && rest.items.length >= 1);
const patched = await core.patchNamespacedPod(
  { name: 'node-0', namespace, body: { metadata: { labels: { tier: 'gold' } } } },
  k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch),
);
must('patches', patched.metadata.labels.tier === 'gold');
const binding = {
  metadata: { name: 'node-0' },
  target: { apiVersion: 'v1', kind: 'Node', name: 'node-node' },
};
await core.createNamespacedPodBinding({ name: 'node-0', namespace, body: binding });
const bound = await core.readNamespacedPod({ name: 'node-0', namespace });
must('binds', bound.spec.nodeName === 'node-node');
const again = await core.createNamespacedPodBinding({ name: 'node-0', namespace, body: binding }).catch((error) => error);
must('is refused a second binding', again.code === 409);
await core.deleteNamespacedPod({ name: 'node-2', namespace, gracePeriodSeconds: 0 });
const wanted = ['ADDED node-0 ', 'MODIFIED node-0 node-node', 'DELETED node-2 '];
for (let tries = 0; tries < 100 && !wanted.every((line) => seen.includes(line)); tries += 1) {
  await new Promise((resolve) => setTimeout(resolve, 100));
}
must('watches', wanted.every((line) => seen.includes(line)));
request.abort();
process.exit(0);
