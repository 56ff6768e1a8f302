package client

import "time"

const (
	// DefaultTimeout is how long a lender may take to answer.
	DefaultTimeout = 2 * time.Second
	// MaxLoans is the most loans of one list.
	MaxLoans = 10_000
	// MaxReceipts is the most receipts of one list, with their signed bytes.
	MaxReceipts = 100

	// arriveTime is how long what a sync brought may take to be known here.
	arriveTime = 2 * time.Second
	// anchorTime is how long a loan may be used before it counts as unanchored.
	anchorTime = time.Minute
	// sayEvery is how often it is looked whether something unsaid can be said.
	sayEvery = 5 * time.Second
	// hearEvery is how often it is looked whether borrowed loans are over: an end is said
	// within 60 s.
	hearEvery = 30 * time.Second
	// forgetEvery is how often it is looked whether what was learnt goes with its loan.
	forgetEvery = time.Minute
	// maxErrors is the most errors told of one walk.
	maxErrors = 8
	// maxOpenAsks is how many requests of one agent may wait for an answer, maxKeptAsks how
	// many are kept at all: the oldest that does not wait gives way to a new one.
	maxOpenAsks = 32
	maxKeptAsks = 256
	// maxObject is the longest signed object read back, in bytes.
	maxObject = 32 << 10
	// auditTime is how long a lender may take for one page of rows, which it proves first.
	auditTime = 10 * time.Second

	// maxCachedPerms, maxCachedAnswers and maxCachedBytes bound what is kept of answers in
	// memory: permissions, answers of one, bytes of entries of all.
	maxCachedPerms   = 4096
	maxCachedAnswers = 64
	maxCachedBytes   = 32 << 20
)
