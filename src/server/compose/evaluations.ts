import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import type { Freezes } from '../controls/freezes.ts'
import { createCaseEnd } from '../evaluations/case-ends.ts'
import { createCaseStart } from '../evaluations/case-starts.ts'
import { datasetStore } from '../evaluations/dataset-store.ts'
import { createDatasets } from '../evaluations/datasets.ts'
import { createCallerOf } from '../evaluations/experiment-caller.ts'
import { experimentStore } from '../evaluations/experiment-store.ts'
import { createExperiments } from '../evaluations/experiments.ts'
import { createGrading } from '../evaluations/graders/grade.ts'
import type { JudgeAnswer, JudgeCall } from '../evaluations/judge-calls.ts'
import { createCallJudge } from '../evaluations/judge-calls.ts'
import { createCopy } from '../evaluations/recording.ts'
import { serveEvaluations } from '../evaluations/routes.ts'
import { runStore } from '../evaluations/run-store.ts'
import { createExperimentRuns } from '../evaluations/runs.ts'
import { createRunInSession } from '../evaluations/session-command.ts'
import { redacted } from '../gateway/body-log/redact.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { RunAs } from '../keys/run-as.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { createResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { callModel } from '../runtimes/builtin/model-call.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { runSessionOf } from '../sessions/engine/run-session.ts'
import type { PromptFiles } from '../sessions/files/prompt-files.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { createAnswerOf } from '../sessions/log/run-answer.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'

interface Needs {
  readonly log: Log
  readonly pool: Pool
  readonly audit: Audit
  readonly agents: Agents
  readonly agentRows: AgentStore
  readonly budgetRows: BudgetStore
  readonly freezes: Freezes
  readonly gateway: Pick<Gateway, 'call' | 'echoes'>
  readonly runAs: RunAs
  readonly runtimes: RuntimeRegistry
  readonly sandboxes: Pick<Sandboxes, 'prepare' | 'open'>
  readonly sessions: Sessions
  readonly sessionRows: SessionStore
  readonly events: EventStore
  readonly promptFiles: Pick<PromptFiles, 'read'>
  readonly workspaces: Workspaces
}

const checkLimits = { checkMs: 5_000, idleMs: 30_000 }

/** Datasets, experiments and their graders. */
export function composeEvaluations(needs: Needs) {
  const { log, pool, audit, agentRows, budgetRows, freezes, gateway, runtimes, sessions, sessionRows, events } = needs
  // A thread of its own, with more time: patterns of graders must not delay the answers of agents.
  const resultSchemas = createResultSchemas(checkLimits)

  // datasets
  const datasetRows = datasetStore(pool)
  const datasets = createDatasets({
    pool,
    store: datasetRows,
    audit,
    copy: createCopy({ sessions, events, fileContent: needs.promptFiles.read }),
    redact: text => redacted(text, gateway.echoes()),
    resultSchemas,
  })

  // experiments
  const experiments = createExperiments({
    pool,
    store: experimentStore(pool),
    datasets,
    cases: datasetRows,
    agents: agentRows,
    diff: needs.agents.diff,
    sessions,
    runtimes,
    budgets: budgetRows,
    audit,
  })

  // runs
  const rows = runStore(pool)
  const callerOf = createCallerOf({ agents: agentRows, runAs: needs.runAs })
  const grade = createGrading({
    resultSchemas,
    runInSession: createRunInSession({
      rowOf: sessionRows.ofRun,
      runSessionOf: row => runSessionOf(row, agentRows),
      runtimes,
      workspaces: needs.workspaces,
      sandboxes: needs.sandboxes,
    }),
    callJudge: createCallJudge({ call: judgeCallBy(gateway) }),
  })
  const runs = createExperimentRuns({
    store: rows,
    startCase: createCaseStart({ pool, store: rows, cases: datasetRows, sessions, callerOf, freezes, log }),
    endCase: createCaseEnd({ store: rows, cases: datasetRows, grade, answerOf: createAnswerOf(events), callerOf, log }),
    sessions,
    log,
  })

  const parts: readonly Part[] = [{ name: 'experiments', isSessionWork: true, start: runs.start, drain: runs.stop }]
  return {
    parts,
    /** Cancels the experiments that a kill switch stops. */
    stop: experiments.stop,
    serve: (app: FastifyInstance) => serveEvaluations(app, { datasets, experiments }),
  }
}

/** Returns a function that calls a model through our own gateway. */
function judgeCallBy(gateway: Pick<Gateway, 'call'>): (call: JudgeCall) => Promise<JudgeAnswer> {
  return async ({ experimentId, caseId, ownerId, payer, body, signal }) => {
    const result = await callModel(gateway, {
      session: { id: experimentId, agent_id: '', owner_id: ownerId, config: {} },
      prompt: { id: caseId },
      runId: randomUUID(),
      payer,
      body,
      signal,
      onText: () => undefined,
    })
    if ('answer' in result) {
      return { text: result.answer.blocks.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('') }
    }
    if ('partial' in result) return { failure: { message: 'the call was aborted', isPassing: false } }
    return result
  }
}
