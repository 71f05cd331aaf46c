# nix-build hallmark.nix, or callPackage ./hallmark.nix { } from another expression.
{ pkgs ? import <nixpkgs> { } }:
let
  archives = {
    x86_64-linux = {
      url = "{{.Archives.linux_amd64.URL}}";
      sha256 = "{{.Archives.linux_amd64.SHA256}}";
    };
    aarch64-linux = {
      url = "{{.Archives.linux_arm64.URL}}";
      sha256 = "{{.Archives.linux_arm64.SHA256}}";
    };
    x86_64-darwin = {
      url = "{{.Archives.darwin_amd64.URL}}";
      sha256 = "{{.Archives.darwin_amd64.SHA256}}";
    };
    aarch64-darwin = {
      url = "{{.Archives.darwin_arm64.URL}}";
      sha256 = "{{.Archives.darwin_arm64.SHA256}}";
    };
  };
in
pkgs.stdenvNoCC.mkDerivation {
  pname = "hallmark";
  version = "{{.Version}}";
  src = pkgs.fetchurl archives.${pkgs.stdenv.hostPlatform.system};
  nativeBuildInputs = [ pkgs.installShellFiles ];
  installPhase = ''
{{- range .Programs}}
    install -Dm755 {{.}} $out/bin/{{.}}
    installShellCompletion --cmd {{.}} --bash completions/{{.}} --zsh completions/_{{.}} --fish completions/{{.}}.fish
{{- end}}
    installManPage man/man1/*.1
  '';
  meta = {
    description = "{{.Summary}}";
    homepage = "{{.Homepage}}";
    license = pkgs.lib.licenses.asl20;
    mainProgram = "hallmark";
    platforms = builtins.attrNames archives;
  };
}
