//! Prints where the protoc of the crate lies.

fn main() {
    println!("{}", protoc_bin_vendored::protoc_bin_path().unwrap().display());
}
