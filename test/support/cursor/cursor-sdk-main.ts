// Drives the vendor's own client through what its users do, and prints what it saw as JSON. It reads its key and the
// address from its environment.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

interface Message {
  readonly type: string
  readonly status?: string
  readonly text?: string
  readonly call_id?: string
  readonly message?: { readonly content: readonly { readonly text: string }[] }
}

interface Run {
  readonly id: string
  readonly status: string
  stream(): AsyncGenerator<Message>
  wait(): Promise<{ readonly status: string; readonly result?: string; readonly git?: unknown }>
  cancel(): Promise<void>
}

interface Agent {
  readonly agentId: string
  send(text: string): Promise<Run>
}

interface Listed {
  readonly items: readonly { readonly id?: string; readonly agentId?: string; readonly status?: string }[]
}

interface Sdk {
  readonly Agent: {
    create(options: object): Promise<Agent>
    resume(agentId: string): Promise<Agent>
    listRuns(agentId: string, options: object): Promise<Listed>
    list(options: object): Promise<Listed>
    getRun(runId: string, options: object): Promise<Run>
    archive(agentId: string): Promise<void>
    unarchive(agentId: string): Promise<void>
    delete(agentId: string): Promise<void>
  }
  readonly Cursor: {
    me(): Promise<{ readonly apiKeyName: string }>
    readonly models: { list(): Promise<readonly { readonly id: string }[]> }
  }
}

const file = join(import.meta.dirname, '../../clients/node_modules/@cursor/sdk/dist/esm/index.js')
const { Agent, Cursor } = (await import(pathToFileURL(file).href)) as Sdk
const cloud = { runtime: 'cloud' } as const

/** A message as one line: its type, text and status. */
function lineOf({ type, message, text, call_id, status }: Message): string {
  const words = message?.content.map(part => part.text).join('') ?? text ?? call_id ?? ''
  return [type, words, status ?? ''].filter(part => part !== '').join(' ')
}

async function followed(run: Run): Promise<string[]> {
  const seen: string[] = []
  for await (const message of run.stream()) seen.push(lineOf(message))
  return seen
}

/** The name of the failure, and its code. */
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'none',
    (error: { readonly name: string; readonly code?: string }) => [error.name, error.code],
  )

/** What the client saw, for the test to compare. */
async function used(): Promise<object> {
  const agent = await Agent.create({
    model: { id: 'composer-2.5' },
    cloud: { repos: [{ url: 'https://github.com/acme/app', startingRef: 'main' }], autoCreatePR: true },
  })
  const run = await agent.send('Turn')
  const messages = await followed(run)
  const result = await run.wait()
  const held = await agent.send('Hold')
  const busy = await failureOf(agent.send('Meanwhile'))
  await held.cancel()
  const cancelled = await held.wait()
  const resumed = await (await Agent.resume(agent.agentId)).send('Again')
  const again = await resumed.wait()
  const runs = await Agent.listRuns(agent.agentId, cloud)
  const found = await Agent.getRun(run.id, { ...cloud, agentId: agent.agentId })
  await Agent.archive(agent.agentId)
  const archived = await failureOf(agent.send('Archived'))
  await Agent.unarchive(agent.agentId)
  const agents = await Agent.list(cloud)
  await Agent.delete(agent.agentId)
  const gone = await failureOf(Agent.resume(agent.agentId).then(dead => dead.send('Gone')))
  const me = await Cursor.me()
  const models = await Cursor.models.list()

  return {
    agentId: agent.agentId,
    messages,
    result: { status: result.status, text: result.result, git: result.git },
    busy,
    cancelled: cancelled.status,
    again: [again.status, again.result],
    runs: runs.items.map(({ id }) => id).toReversed(),
    found: [found.id, found.status],
    archived,
    agents: agents.items.map(({ agentId }) => agentId),
    gone,
    me: me.apiKeyName,
    models: models.map(({ id }) => id),
  }
}

try {
  process.stdout.write(`${JSON.stringify(await used())}\n`)
} catch (error) {
  process.stderr.write(`${String(error)}\n`)
  process.exitCode = 1
}
