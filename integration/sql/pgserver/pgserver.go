//go:build unix

// Package pgserver starts PostgreSQL servers from the programs of this machine, on free ports of 127.0.0.1, in directories
// of their own. Servers die with the process that started them.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// ErrMissing: the programs are not on this machine.
var ErrMissing = errors.New("PostgreSQL programs not found in PATH or /usr/lib/postgresql (apt-get install postgresql)")

// A Server is a running server.
type Server struct {
	Dir  string
	Port int

	cmd  *exec.Cmd
	done chan struct{}
}

// program finds a program of PostgreSQL.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", ErrMissing
	}
	return found[len(found)-1], nil
}

// command prepares a program. PostgreSQL refuses to run as root; then it runs as the user postgres, or nobody.
func command(name string, args ...string) (*exec.Cmd, error) {
	path, err := program(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	if uid, gid, err := owner(); err != nil {
		return nil, err
	} else if uid >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	child.Bind(cmd)
	return cmd, nil
}

// owner is who runs the servers, or -1 for the user that runs this program.
func owner() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return -1, -1, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return 0, 0, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err1, err2)
}

func run(name string, args ...string) error {
	cmd, err := command(name, args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// prepare gives dir to the user that runs the servers.
func prepare(dir string) error {
	uid, gid, err := owner()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || uid < 0 {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}

// New makes a cluster in dir and starts it with settings like "synchronous_commit=off". The superuser is postgres, without
// a password.
func New(dir string, settings ...string) (*Server, error) {
	if err := prepare(dir); err != nil {
		return nil, err
	}
	err := run("initdb", "-D", dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return nil, err
	}
	return Start(dir, settings...)
}

// Start starts the cluster that is in dir.
func Start(dir string, settings ...string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return start(dir, port, settings)
}

func start(dir string, port int, settings []string) (*Server, error) {
	args := []string{"-D", dir, "-p", strconv.Itoa(port)}
	settings = append([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200",
		"shared_buffers=32MB", "max_wal_senders=5", "wal_keep_size=256MB", "hot_standby=on"}, settings...)
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd, err := command("postgres", args...)
	if err != nil {
		return nil, err
	}
	if err := prepare(dir); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, Port: port, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(s.done)
	}()
	return s, s.ready()
}

// ready waits until the server answers.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			text, _ := os.ReadFile(filepath.Join(s.Dir, "server.log"))
			return fmt.Errorf("server ended: %s", text)
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("server does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL is the address of a database.
func (s *Server) URL(database string) string { return URL(s.Port, database) }

// URL is the address of a database behind a port of 127.0.0.1, a proxy's perhaps.
func URL(port int, database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", port, database)
}

// PID is the main process's id. Its children serve the connections.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop ends the server at once, as "pg_ctl stop -m fast" does.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Kill ends the server and all of its processes with SIGKILL.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(sig syscall.Signal) {
	pid := s.cmd.Process.Pid
	if sig == syscall.SIGKILL {
		// Backends are in groups of their own and would go on for a moment.
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		defer func() {
			for _, child := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(child); err == nil {
					_ = syscall.Kill(pid, sig)
				}
			}
		}()
	}
	_ = s.cmd.Process.Signal(sig)
	<-s.done
}

// Restart starts the cluster again, on the same port, after Stop or Kill.
func (s *Server) Restart(settings ...string) error {
	again, err := start(s.Dir, s.Port, settings)
	if err != nil {
		return err
	}
	*s = *again
	return nil
}

// Standby makes a standby in dir that follows the server, through another port if through is not zero, and starts it.
func (s *Server) Standby(dir string, through int, settings ...string) (*Server, error) {
	if err := prepare(dir); err != nil {
		return nil, err
	}
	err := run("pg_basebackup", "-D", dir, "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-U", "postgres",
		"--checkpoint=fast", "--wal-method=stream", "--no-sync")
	if err != nil {
		return nil, err
	}
	if through == 0 {
		through = s.Port
	}
	if err := os.WriteFile(filepath.Join(dir, "standby.signal"), nil, 0o600); err != nil {
		return nil, err
	}
	return Start(dir, append(settings, "primary_conninfo="+URL(through, ""))...)
}

// Promote makes a primary of a standby.
func (s *Server) Promote() error { return run("pg_ctl", "promote", "-w", "-D", s.Dir) }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
