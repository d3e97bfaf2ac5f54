from __future__ import annotations

from pathlib import Path

from quintet.io.paths import cache_folder


def test_the_cache_follows_the_environment(monkeypatch, tmp_path):
    for name in ("QUINTET_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "quintet"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/quintet")
    monkeypatch.setenv("QUINTET_CACHE", "~/c")
    assert cache_folder() == tmp_path / "c"
    assert not (tmp_path / "c").exists()
