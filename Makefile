# make test is what CI runs. It needs Go; on Debian it installs the rest.
GO ?= go
FUZZTIME ?= 5s
LINT = bin/golangci-lint

.PHONY: test setup vet lint unit nights nightly fuzz build clean

test: setup vet lint unit nights fuzz build

# Packages that some tests use as peers. Without Debian or without root the tests that need them say so and skip; with CI=true they fail.
setup:
	@sh .ci/setup

vet:
	$(GO) vet ./...

lint: $(LINT)
	$(LINT) run ./...

$(LINT): .ci/tools/golangci-lint/go.mod
	cd .ci/tools/golangci-lint && $(GO) build -buildvcs=false -o $(CURDIR)/$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# Packages one after the other, and many tests of one at once: those of cmd/tlsroll mostly wait for the lab's clock.
unit:
	$(GO) test -race -shuffle=on -timeout 25m -p 1 -parallel 6 ./...

# Random nights against the laws: 2,000 of them, and 100,000 with another seed each day. The detector of races plays 150 in unit.
nights:
	$(GO) test -count=1 -run '^TestRandomNightsKeepTheLaws$$' ./controller/sim -args -nights 2000

nightly:
	$(GO) test -count=1 -timeout 5h -run '^TestRandomNightsKeepTheLaws$$' ./controller/sim -args -nights 100000 -seed $$(date -u +%Y%m%d)

fuzz:
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" sh .ci/fuzz

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/tlsroll ./cmd/tlsroll

clean:
	rm -rf bin
