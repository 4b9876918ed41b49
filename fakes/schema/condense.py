# Condenses Kubernetes' OpenAPI and protobuf definitions to what is served.
# Usage: condense.py OUT_FOLDER KUBERNETES_CLONE
import json, re, subprocess, sys
REPO, REF = sys.argv[2], 'v1.36.4'
def show(path): return subprocess.run(['git','-C',REPO,'show',f'{REF}:{path}'],capture_output=True,text=True,check=True).stdout
GV={'api__v1':None,'apis__apps__v1':None,'apis__batch__v1':None,'apis__policy__v1':None,'apis__autoscaling__v2':None,'apis__autoscaling__v1':None,
'apis__rbac.authorization.k8s.io__v1':None,'apis__coordination.k8s.io__v1':None,'apis__scheduling.k8s.io__v1':None,'apis__scheduling.k8s.io__v1alpha2':None,'apis__admissionregistration.k8s.io__v1':None,
'apis__apiextensions.k8s.io__v1':None,'apis__resource.k8s.io__v1':None,'apis__authorization.k8s.io__v1':None,'apis__authentication.k8s.io__v1':None}
schemas={}
for gv in GV:
    d=json.loads(show(f'api/openapi-spec/v3/{gv}_openapi.json'))
    schemas.update(d['components']['schemas'])
KINDS={'Namespace','Node','Pod','Event','ConfigMap','ServiceAccount','Secret','Service','Endpoints','LimitRange','ResourceQuota','PersistentVolumeClaim','PersistentVolume','StatefulSet','DaemonSet','ControllerRevision','Deployment','ReplicaSet','Job','CronJob','PodDisruptionBudget','HorizontalPodAutoscaler','Role','RoleBinding','ClusterRole','ClusterRoleBinding','CustomResourceDefinition','ResourceSlice','ResourceClaim','ResourceClaimTemplate','DeviceClass','Lease','PriorityClass','MutatingWebhookConfiguration','ValidatingWebhookConfiguration','Binding','Eviction','Scale','PodGroup','Workload'}
roots=[n for n,s in schemas.items() if any(g['kind'] in KINDS for g in s.get('x-kubernetes-group-version-kind',[]))]
roots+= [n for n in schemas if n.split('.')[-1] in ('DeleteOptions','Status')]
keep=set()
def refs(v):
    if isinstance(v,dict):
        for k,x in v.items():
            if k=='$ref' and isinstance(x,str): yield x.split('/')[-1]
            else: yield from refs(x)
    elif isinstance(v,list):
        for x in v: yield from refs(x)
todo=list(roots)
while todo:
    n=todo.pop()
    if n in keep: continue
    keep.add(n); todo+=list(refs(schemas[n]))
out={n:schemas[n] for n in sorted(keep)}
# DeleteOptions and friends list every group they appear in: keep those that are served
for s in out.values():
    g=s.get('x-kubernetes-group-version-kind')
    if g and len(g)>3: s['x-kubernetes-group-version-kind']=[x for x in g if x['group']=='' or x['group'] in ('apps','batch','policy','autoscaling')]
def tidy(v):
    if isinstance(v,dict):
        v={k:tidy(x) for k,x in v.items()}
        if v.get('default')=={}: del v['default']
        return v
    if isinstance(v,list): return [tidy(x) for x in v]
    return v
out=tidy(out)
t='{\n'+',\n'.join(json.dumps(n)+':'+json.dumps(s,separators=(',',':'),sort_keys=True,ensure_ascii=False) for n,s in out.items())+'\n}\n'
open(sys.argv[1]+'/schemas.json','w').write(t)
print(len(out),'schemas',len(t))
# protobuf
PROTO={'k8s.io.api.core.v1':'staging/src/k8s.io/api/core/v1','k8s.io.api.apps.v1':'staging/src/k8s.io/api/apps/v1','k8s.io.api.batch.v1':'staging/src/k8s.io/api/batch/v1','k8s.io.api.policy.v1':'staging/src/k8s.io/api/policy/v1','k8s.io.api.autoscaling.v1':'staging/src/k8s.io/api/autoscaling/v1','k8s.io.api.autoscaling.v2':'staging/src/k8s.io/api/autoscaling/v2','k8s.io.api.rbac.v1':'staging/src/k8s.io/api/rbac/v1','k8s.io.api.coordination.v1':'staging/src/k8s.io/api/coordination/v1','k8s.io.api.scheduling.v1':'staging/src/k8s.io/api/scheduling/v1','k8s.io.api.resource.v1':'staging/src/k8s.io/api/resource/v1','k8s.io.api.authorization.v1':'staging/src/k8s.io/api/authorization/v1','k8s.io.api.authentication.v1':'staging/src/k8s.io/api/authentication/v1','k8s.io.apimachinery.pkg.apis.meta.v1':'staging/src/k8s.io/apimachinery/pkg/apis/meta/v1','k8s.io.apimachinery.pkg.runtime':'staging/src/k8s.io/apimachinery/pkg/runtime','k8s.io.apimachinery.pkg.util.intstr':'staging/src/k8s.io/apimachinery/pkg/util/intstr','k8s.io.apimachinery.pkg.api.resource':'staging/src/k8s.io/apimachinery/pkg/api/resource'}
flags={}
for pkg,path in PROTO.items():
    try: src=show(path+'/types.go')
    except Exception: continue
    for m in re.finditer(r'^type (\w+) struct \{\n(.*?)^\}',src,re.S|re.M):
        for f in re.finditer(r'^\t(?:(\w+)\s+)?(\*?)([\w.\[\]*]+)\s+`json:"([^"]*)"(?: protobuf:"([^"]*)")?',m.group(2),re.M):
            name,ptr,typ,js,pb=f.groups()
            pn=re.search(r'name=(\w+)',pb or '')
            if not pn: continue
            fl=''
            if js.startswith(',inline'): fl='^'
            elif ptr: fl='*'
            flags[(pkg+'.'+m.group(1),pn.group(1))]=fl
msgs={}
for pkg,path in PROTO.items():
    text=show(path+'/generated.proto')
    text=re.sub(r'//[^\n]*','',text)
    for m in re.finditer(r'message (\w+) \{([^}]*)\}',text):
        fields=[]
        for f in re.finditer(r'(optional|repeated|required)?\s*(map<\s*string\s*,\s*([.\w]+)\s*>|[.\w]+)\s+(\w+)\s*=\s*(\d+)\s*(\[[^\]]*\])?;',m.group(2)):
            rep,typ,mapv,name,num=f.group(1),f.group(2),f.group(3),f.group(4),int(f.group(5))
            def q(t):
                t=t.lstrip('.')
                if t in('string','bytes','bool','int32','int64','uint32','uint64','double','float','fixed64'): return t
                return t if '.' in t else pkg+'.'+t
            mark=''
            if mapv: mark='{}'; typ=mapv
            elif rep=='repeated': mark='[]'
            fl=flags.get((pkg+'.'+m.group(1),name),'')
            scalar=q(typ) in('string','bool','int32','int64')
            if fl=='*' and not (scalar and not mark): fl=''
            fields.append((num,name,fl+mark+q(typ)))
        msgs[pkg+'.'+m.group(1)]=fields
short=lambda n:n.replace('k8s.io.apimachinery.pkg.apis.meta.v1.','meta.').replace('k8s.io.apimachinery.pkg.','').replace('k8s.io.api.','')
def sh(t):
    m=re.match(r'([\^*]?(?:\[\]|\{\})?)(.*)',t); return (m.group(1) or '')+short(m.group(2))
roots=[p+'.'+k for p in PROTO for k in KINDS if p+'.'+k in msgs]+[n for n in msgs if n.endswith('Review') or n.split('.')[-1] in('DeleteOptions','Status','ObjectMeta')]
keep=set(); todo=roots
while todo:
    n=todo.pop()
    if n in keep or n not in msgs: continue
    keep.add(n)
    for _,_,t in msgs[n]:
        t=re.sub(r'^[\^*]?(\[\]|\{\})?','',t)
        if '.' in t: todo.append(t)
lines=[]
for n in sorted(keep):
    lines.append(short(n)+' '+' '.join(f'{num}:{name}:{sh(t)}' for num,name,t in sorted(msgs[n])))
t='\n'.join(lines)+'\n'
open(sys.argv[1]+'/protobuf.txt','w').write(t); print(len(lines),'messages',len(t))
