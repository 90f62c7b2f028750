package npm

import (
	"io/fs"
	"os"
	"testing/fstest"
)

// manifests is dir as npm should see it: the two files, and not the tests beside them.
func manifests(dir string) fs.FS {
	files := fstest.MapFS{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		if data, err := fs.ReadFile(os.DirFS(dir), name); err == nil {
			files[name] = &fstest.MapFile{Data: data, Mode: 0o644}
		}
	}
	return files
}
