package owed_test

import (
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// A declared server owes an entry of the lock: to the project, which declares it, and to this machine, which approved
// one. What is owed and not there is missing, which no flow lets pass.
func ExampleDemands_Server() {
	config, err := project.ParseConfig([]byte("manifest_version = 1\n[providers.mcp.notes]\ncommand = \"./notes\"\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	memory := project.NewApprovals("/home/acme/project")
	memory.Servers["notes"] = project.Approval{
		Entry: digest.FromBytes([]byte("the entry")), At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	demands := owed.New(config, &project.Lock{}, memory, nil)
	report := demands.Server("notes").Settle(nil)
	for _, e := range report {
		fmt.Println(e.Outcome, e.Subject, e.Scheme, e.Owed)
	}
	fmt.Println(policy.Judge(policy.Launch, policy.Settings{}, report).Class())
	// Output:
	// missing notes launch [project machine]
	// policy
}

// An absent claim that somebody was told to expect is missing; one that is there, or that the project waives where a
// reviewer sees it, is not.
func ExampleList_Settle() {
	claim := evidence.Claim{Subject: "notes", Scheme: evidence.Launch, Authority: evidence.Lock}
	list := owed.List{
		{Claim: claim, By: evidence.Project, Why: "hallmark.toml declares it", Fix: "run 'hallmark pin notes'"}}
	for _, found := range []evidence.Outcome{evidence.Match, evidence.Absent, evidence.Waived} {
		settled := list.Settle(evidence.Report{{Claim: claim, Outcome: found}})
		fmt.Println(found, "is", settled[0].Outcome)
	}
	// Output:
	// match is match
	// absent is missing
	// waived is waived
}
