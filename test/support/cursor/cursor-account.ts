import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Json, nonEmptyText, recordOf, textOf } from '../../../src/server/platform/json.ts'
import { type CursorStep, FakeRun } from './cursor-runs.ts'

/** What a run does, by the text of its prompt. */
export type CursorScript = (prompt: string) => readonly CursorStep[]

interface FakeAgent {
  readonly id: string
  /** What made it. */
  readonly body: Json
  readonly runs: FakeRun[]
  isArchived: boolean
}

/** One call of the API. */
export interface CursorCall {
  /** Method and path, with a star in place of each id. */
  readonly name: string
  /** Replacement of the stars. */
  readonly ids: readonly string[]
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: Json
}

interface Rejection {
  readonly status: number
  readonly code: string
}

/** Response of the API to a call. */
export type CursorAnswer = { readonly json: unknown } | Rejection | { readonly follow: FakeRun; readonly place: number }

export interface CursorModel {
  readonly id: string
  readonly displayName: string
  readonly aliases?: readonly string[]
}

/** An error in the format of the API. */
export const rejection = (status: number, code: string): Rejection => ({ status, code })

/** The agents and runs of one account. */
export class CursorAccount {
  readonly agents = new Map<string, FakeAgent>()
  readonly #models: readonly CursorModel[]
  script: CursorScript
  runsMade = 0
  hasExpired = false

  constructor(script: CursorScript, models: readonly CursorModel[]) {
    this.script = script
    this.#models = models
  }

  /** Begins a run; also one started elsewhere, as by a person in Cursor's own window. */
  begin(agentId: string, prompt: string): FakeRun {
    const agent = this.agents.get(agentId)
    if (!agent) throw new Error(`there is no agent ${agentId}`)
    const createdAt = new Date(1_788_000_000_000 + this.runsMade++ * 1000).toISOString()
    const run = new FakeRun(`run-${randomUUID()}`, agentId, createdAt)
    agent.runs.push(run)
    void run.play(this.script(prompt))
    return run
  }

  answer(call: CursorCall): CursorAnswer {
    return this.#routes[call.name]?.(call) ?? rejection(404, 'not_found')
  }

  readonly #routes: Readonly<Record<string, (call: CursorCall) => CursorAnswer>> = {
    'GET /v1/me': () => ({ json: { apiKeyName: 'tests', createdAt: '2026-11-01T00:00:00.000Z', userId: 1 } }),
    'GET /v1/models': () => ({ json: { items: this.#models } }),
    'GET /v1/repositories': () => ({ json: { items: [] } }),
    'POST /v1/agents': call => this.#createAgent(call),
    'GET /v1/agents': ({ query }) => ({ json: pageOf([...this.agents.values()].map(agentJson).reverse(), query) }),
    'GET /v1/agents/*': call => this.#withAgent(call, agentJson),
    'DELETE /v1/agents/*': call => this.#withAgent(call, agent => this.#remove(agent)),
    'POST /v1/agents/*/archive': call => this.#withAgent(call, agent => archive(agent, 'archived')),
    'POST /v1/agents/*/unarchive': call => this.#withAgent(call, agent => archive(agent, 'active')),
    'GET /v1/agents/*/artifacts': call => this.#withAgent(call, () => ({ items: [] })),
    'POST /v1/agents/*/runs': call => this.#createRun(call),
    'GET /v1/agents/*/runs': call =>
      this.#withAgent(call, ({ runs }) => pageOf(runs.map(run => run.toJson('in a list')).reverse(), call.query)),
    'GET /v1/agents/*/runs/*': call => this.#withRun(call, run => ({ json: run.toJson() })),
    'POST /v1/agents/*/runs/*/cancel': call => this.#withRun(call, cancel),
    'GET /v1/agents/*/runs/*/stream': call => this.#withRun(call, run => this.#stream(call, run)),
  }

  #createAgent({ body }: CursorCall): CursorAnswer {
    const { agentId, model } = body
    const prompt = textOf(recordOf(body['prompt'])['text'])
    if (prompt === '' || (agentId !== undefined && !agentIdForm.test(textOf(agentId))))
      return rejection(400, 'validation_error')
    if (model !== undefined && !this.#models.some(({ id }) => id === recordOf(model)['id']))
      return rejection(400, 'invalid_model')
    const id = nonEmptyText(agentId) ?? `bc-${randomUUID()}`
    if (this.agents.has(id)) return rejection(409, 'agent_id_conflict')
    const agent: FakeAgent = { id, body, runs: [], isArchived: false }
    this.agents.set(id, agent)
    const run = this.begin(id, prompt)
    return { json: { agent: agentJson(agent), run: run.toJson() } }
  }

  #createRun(call: CursorCall): CursorAnswer {
    const agent = this.agents.get(call.ids[0] ?? '')
    if (!agent) return rejection(404, 'agent_not_found')
    if (agent.isArchived) return rejection(409, 'agent_archived')
    if (agent.runs.some(({ isActive }) => isActive)) return rejection(409, 'agent_busy')
    const prompt = textOf(recordOf(call.body['prompt'])['text'])
    return prompt === '' ? rejection(400, 'validation_error') : { json: { run: this.begin(agent.id, prompt).toJson() } }
  }

  #stream({ headers }: CursorCall, run: FakeRun): CursorAnswer {
    if (this.hasExpired) return rejection(410, 'stream_expired')
    const place = run.placeAfter(nonEmptyText(headers['last-event-id']))
    return place === undefined ? rejection(400, 'invalid_last_event_id') : { follow: run, place }
  }

  #remove(agent: FakeAgent) {
    this.agents.delete(agent.id)
    for (const run of agent.runs) run.finish({ status: 'CANCELLED' })
    return { id: agent.id }
  }

  #withAgent({ ids }: CursorCall, use: (agent: FakeAgent) => unknown): CursorAnswer {
    const agent = this.agents.get(ids[0] ?? '')
    return agent ? { json: use(agent) } : rejection(404, 'agent_not_found')
  }

  #withRun({ ids }: CursorCall, use: (run: FakeRun) => CursorAnswer): CursorAnswer {
    const run = this.agents.get(ids[0] ?? '')?.runs.find(({ id }) => id === ids[1])
    return run ? use(run) : rejection(404, 'run_not_found')
  }
}

const agentIdForm = /^bc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function cancel(run: FakeRun): CursorAnswer {
  if (!run.isActive) return rejection(409, 'run_not_cancellable')
  run.finish({ status: 'CANCELLED' })
  return { json: { id: run.id } }
}

function archive(agent: FakeAgent, state: 'archived' | 'active') {
  agent.isArchived = state === 'archived'
  return { id: agent.id }
}

const agentJson = ({ id, body, runs, isArchived }: FakeAgent) => ({
  id,
  name: textOf(body['name']) || 'An agent',
  status: isArchived ? 'ARCHIVED' : runs.some(({ isActive }) => isActive) ? 'ACTIVE' : 'IDLE',
  env: { type: 'cloud' },
  repos: body['repos'] ?? [],
  autoCreatePR: body['autoCreatePR'] === true,
  url: `https://cursor.com/agents/${id}`,
  createdAt: runs[0]?.createdAt,
  updatedAt: runs.at(-1)?.createdAt,
  latestRunId: runs.at(-1)?.id,
})

function pageOf(all: readonly { readonly id: string }[], query: URLSearchParams) {
  const limit = Math.min(Number(query.get('limit') ?? 20), 100)
  const start = all.findIndex(({ id }) => id === query.get('cursor')) + 1
  const items = all.slice(start, start + limit)
  return { items, ...(start + limit < all.length && { nextCursor: items.at(-1)?.id }) }
}
