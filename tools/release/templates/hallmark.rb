class Hallmark < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "{{.License}}"

  on_macos do
    on_arm do
      url "{{.Archives.darwin_arm64.URL}}"
      sha256 "{{.Archives.darwin_arm64.SHA256}}"
    end
    on_intel do
      url "{{.Archives.darwin_amd64.URL}}"
      sha256 "{{.Archives.darwin_amd64.SHA256}}"
    end
  end

  on_linux do
    on_arm do
      url "{{.Archives.linux_arm64.URL}}"
      sha256 "{{.Archives.linux_arm64.SHA256}}"
    end
    on_intel do
      url "{{.Archives.linux_amd64.URL}}"
      sha256 "{{.Archives.linux_amd64.SHA256}}"
    end
  end

  def install
{{- range .Programs}}
    bin.install "{{.}}"
    generate_completions_from_executable(bin/"{{.}}", "completion", shells: [:bash, :zsh, :fish])
{{- end}}
    man1.install Dir["man/man1/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hallmark version")
  end
end
