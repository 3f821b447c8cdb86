import fc from 'fast-check'
import { scan } from '../../support/secrets/canaries.ts'
import { eventually } from '../../support/service/eventually.ts'
import { send, sendOk } from '../../support/service/send.ts'
import { createExaminer, type Finding } from './examine.ts'
import { type FuzzedOperation, servedDocument } from './operations.ts'
import { createFuzzRequests } from './requests.ts'
import { createFuzzWorld, type FuzzWorld } from './world.ts'

export interface FuzzOptions {
  readonly seed: number
  /** Requests of each operation in a round. */
  readonly requests: number
  /** True: one more round. Rounds differ in their seed. */
  readonly continues: (round: number) => boolean
  /** Only operations whose id or path contains it. */
  readonly route?: string
  /** Called for the first finding of each kind. */
  readonly onFinding?: (finding: Finding) => void
}

export interface FuzzResult {
  readonly operations: number
  readonly requests: number
  readonly statuses: Readonly<Record<string, number>>
  readonly findings: readonly Finding[]
}

/** Requests in flight at once. */
const parallel = 8

/** Sends generated requests to every operation of a running service. Must be called by a test, after which the service stops. */
export async function fuzz({ seed, requests, continues, route = '', onFinding }: FuzzOptions): Promise<FuzzResult> {
  const world = await createFuzzWorld()
  const served = await servedDocument(world.service)
  const requestsOf = createFuzzRequests(served.schemas)
  const statuses: Record<string, number> = {}
  const examine = createExaminer(world, served, status => {
    statuses[status] = (statuses[status] ?? 0) + 1
  })
  const chosen = served.operations.filter(({ id, path }) => id.includes(route) || path.includes(route))
  const found = new Map<string, Finding>()
  const report = (finding: Finding) => {
    const kind = `${finding.operation} ${finding.problem.slice(0, 100)}`
    if (found.has(kind)) return
    found.set(kind, finding)
    onFinding?.(finding)
  }
  let sent = 0

  async function fuzzOperation(operation: FuzzedOperation, round: number): Promise<void> {
    const ownSeed = seedOf(`${seed} ${round} ${operation.id}`)
    const samples = fc.sample(requestsOf(operation), { seed: ownSeed, numRuns: requests })
    await inParallel(samples, async request => {
      sent++
      for (const finding of await examine(operation.id, request)) report(finding)
    })
  }

  for (let round = 0; round === 0 || continues(round); round++) {
    for (const operation of chosen) {
      await fuzzOperation(operation, round)
      // A waiting call of another operation would fail by what the next one deletes.
      if (round > 0 || /^(controls|keys|budgets)\./.test(operation.id)) await world.repair()
    }
    for (const problem of await problemsAfter(world))
      report({ operation: 'service', problem, request: `round ${round}` })
  }
  return { operations: chosen.length, requests: sent, statuses, findings: [...found.values()] }
}

/** A seed of 32 bits for each operation, so that `route` changes nothing in the requests of an operation. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash | 0
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }
  await Promise.all(Array.from({ length: parallel }, worker))
}

/** What is wrong with the service itself: it must still run an agent, and its log must neither have a secret nor a bug. */
async function problemsAfter(world: FuzzWorld): Promise<readonly string[]> {
  const { service, secrets, foreignTexts } = world
  const logs = service.logs()
  const { findings } = scan([['log', logs]], [...secrets, ...foreignTexts])
  const bugs = new Set([...logs.matchAll(/^\{"level":"?(?:error|fatal|50|60)\b.*$/gm)].map(([line]) => line))
  await world.repair()
  return [
    ...findings.map(({ canary, as }) => `the log contains the ${canary} (${as})`),
    ...[...bugs].map(line => `log: ${line.slice(0, 1_000)}`),
    ...(await problemsOfWork(world).catch((error: unknown) => [`the service does not work: ${String(error)}`])),
  ]
}

async function problemsOfWork({ service }: FuzzWorld): Promise<readonly string[]> {
  await eventually(async () => (await send(service, 'GET /health/ready')).status === 200, { withinMs: 60_000 })
  const body = { name: 'Still here', owner_id: 'me', model: 'demo' }
  const { id: agent } = await sendOk<{ id: string }>(service, 'POST /api/agents', { body })
  const session = await sendOk<{ id: string }>(service, 'POST /session', { body: { agent, prompt: 'Say hello' } })
  const isIdle = async () => {
    const { data } = await sendOk<{ data: unknown[] }>(
      service,
      `GET /v1/sessions/${session.id}/events?types=session.status_idle&wait=10`,
    )
    return data.length > 0
  }
  await eventually(isIdle, { withinMs: 120_000, what: 'the end of a run' })
  return []
}
