# The commands of .ci/run, one by one.
.PHONY: all trap test vet fuzz mutate cover bench lab ci

all: vet test

trap: ## the main job: the replay trap in one command
	go run ./examples/replaytrap

lab: ## the same as a page
	go run ./examples/lab

test:
	go test work

vet:
	test -z "$$(gofmt -l .)"
	go vet work

fuzz: ## each target for FUZZTIME
	.ci/fuzz

mutate: ## drop one check at a time and see the tests go red
	go run .ci/mutate.go

cover: ## at least 95 % of the core's statements
	.ci/cover

bench: ## ours, the floor and the Go peers in one run
	cd bench/node && { [ -d node_modules ] || ! command -v npm >/dev/null || npm ci --no-audit --no-fund --loglevel=error; }
	go run ./bench -write docs/performance.md

ci:
	.ci/run
