package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// The SDK alone
	//   alice asks for staging                     a question
	//   alice accepts, state edited to production  deployed to production
	//   alice accepts, arguments changed           deployed to staging
	//   bob accepts with alice's state             deployed to staging
	//   alice accepts what nobody asked            deployed to
	//   alice accepts                              deployed to staging
	//   alice accepts once more                    deployed to staging
	// With mcpgo.Protect and Redeem
	//   alice asks for staging                     a question
	//   alice accepts, state edited to production  error -32603: Invalid or expired requestState
	//   alice accepts, arguments changed           error -32603: Invalid or expired requestState
	//   bob accepts with alice's state             error -32603: Invalid or expired requestState
	//   alice accepts what nobody asked            a question
	//   alice accepts                              deployed to staging
	//   alice accepts once more                    error -32603: Invalid or expired requestState
}
