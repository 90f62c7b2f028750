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

bench: ## Seal and Open of the job, medians of ten
	go test ./requeststate -run '^$$' -bench 'Seal|Open' -count 10

ci:
	.ci/run
