//! Puts every file of `cases/` and `timed/` into the crate, so that the binary needs no folder
//! beside it.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    embed("cases", "CASES")?;
    embed("timed", "TIMED")
}

fn embed(folder: &str, constant: &str) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={folder}");
    let path = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(folder);
    let mut files: Vec<PathBuf> = vec![];
    for entry in fs::read_dir(path)? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|it| it == "txt"));
    files.sort();
    let rows: String = files
        .iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string())
        })
        .collect();
    let text = format!("const {constant}: &[(&str, &str)] = &[\n{rows}];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join(format!("{folder}.rs")), text)?;
    Ok(())
}
