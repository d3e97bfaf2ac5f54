from __future__ import annotations

from pathlib import Path

from quintet.files.paths import cache_folder, data_folder


def test_folders_follow_the_environment(monkeypatch, tmp_path):
    for name in ("QUINTET_CACHE", "QUINTET_DATA", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "quintet"
    assert data_folder() == tmp_path / ".local" / "share" / "quintet"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.setenv("XDG_DATA_HOME", "/y")
    assert (cache_folder(), data_folder()) == (Path("/x/quintet"), Path("/y/quintet"))
    monkeypatch.setenv("QUINTET_CACHE", "~/c")
    monkeypatch.setenv("QUINTET_DATA", "/d")
    assert (cache_folder(), data_folder()) == (tmp_path / "c", Path("/d"))
    assert not (tmp_path / "c").exists()
