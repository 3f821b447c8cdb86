import type { Client } from '../client/client.ts'
import { ApiError } from '../client/failures.ts'
import type { LogSinkState } from '../contract/log-sinks.ts'
import type { Finding } from '../server/doctor.ts'
import type { IntegrityResult } from '../server/integrity/check.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out, type Piece, plain } from './out.ts'

interface DoctorArguments extends ServerInputs {
  readonly nodeVersion: string
  /** True: also checks all stored data. */
  readonly isDeep: boolean
}

const readyTimeoutMs = 2_000

/** `doctor`: prints the result of each check and the next step. */
export async function doctor(
  { client, server }: { readonly client: Client; readonly server: LocalService },
  { nodeVersion, isDeep, ...inputs }: DoctorArguments,
  out: Out,
): Promise<ExitCode> {
  const service = await examineService(client)
  const isReady = service.state === 'ok'
  // A running service uses its port, so the port is not checked then.
  const port = isReady ? undefined : await server.examinePort(inputs)
  const storedProviders = isReady ? await providersOf(client) : []
  const sinks = isReady ? await examineLogSinks(client) : []
  const findings = [
    examineNode(nodeVersion),
    ...(await server.examine({ ...inputs, storedProviders })),
    service,
    ...sinks,
    ...(port ? [port] : []),
    ...(isDeep ? await examineData(server, inputs) : []),
  ]
  const hasFailed = findings.some(({ state }) => state === 'fail')
  out.data({ ok: !hasFailed, findings })
  for (const line of findings.flatMap(findingLines)) out.line(...line)
  return hasFailed ? exitCodes.failed : exitCodes.ok
}

/** Checks that this version of Node.js can run the sources. */
export function examineNode(version: string): Finding {
  const name = 'Node.js'
  if (Number.parseInt(version, 10) >= 24) return { name, state: 'ok', detail: version }
  const next = 'start with "npm start" or "switchyard serve", which use the packaged Node.js 24'
  return { name, state: 'fail', detail: `${version}; version 24 or newer is required`, next }
}

async function examineData(server: LocalService, inputs: ServerInputs): Promise<Finding[]> {
  try {
    return (await server.backups.checkDatabase(await server.configure(inputs))).map(integrityFinding)
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    return [{ name: 'stored data', state: 'fail', detail: `not checked: ${error.message}` }]
  }
}

/** Returns the finding for one rule of the stored data. */
export function integrityFinding({ claim, count, rows }: IntegrityResult): Finding {
  const name = 'stored data'
  if (count === 0) return { name, state: 'ok', detail: claim }
  const shown = rows.map(row => `\n${row}`).join('')
  const detail = `broken: ${claim} (${count} ${count === 1 ? 'case' : 'cases'})${shown}`
  return { name, state: 'fail', detail, next: 'keep a backup of this state, and report this with the first cases' }
}

/** A service that does not run is a warning, not a failure. */
async function examineService(client: Client): Promise<Finding> {
  const name = 'service'
  const { baseUrl } = client
  try {
    await client.system.ready({}, { signal: AbortSignal.timeout(readyTimeoutMs) })
    return { name, state: 'ok', detail: `ready at ${baseUrl}` }
  } catch (error) {
    if (error instanceof ApiError) {
      const next = 'read its log and GET /health/ready'
      return {
        name,
        state: 'warn',
        detail: `the server at ${baseUrl} is not ready: ${error.message}`,
        next,
      }
    }
    return { name, state: 'warn', detail: `not running at ${baseUrl}`, next: 'start it: npm start' }
  }
}

/** Returns the providers of a running service; none where the key may not read them. */
async function providersOf(client: Client): Promise<readonly string[]> {
  try {
    const { providers } = await client.providers.list({}, { signal: AbortSignal.timeout(readyTimeoutMs) })
    return providers.filter(({ connected }) => connected).map(({ id }) => id)
  } catch {
    return []
  }
}

const lagLimitMs = 60_000

/** Checks the log sinks of a running service; none where the key may not read them. */
async function examineLogSinks(client: Client): Promise<Finding[]> {
  try {
    const { log_sinks: sinks } = await client.logSinks.list({}, { signal: AbortSignal.timeout(readyTimeoutMs) })
    return sinks.map(sinkFinding)
  } catch {
    return []
  }
}

function sinkFinding({ name, stream, waiting, lag_ms, last_error }: LogSinkState): Finding {
  const base = { name: `log sink ${name}` }
  const lag = `${waiting} rows of ${stream} wait, the oldest for ${Math.round(lag_ms / 1_000)} s`
  if (last_error !== null) {
    const next = 'correct the receiver or the entry in log_sinks; the service retries, and keeps the rows in its ledger'
    return { ...base, state: 'warn', detail: `${last_error}; ${lag}`, next }
  }
  if (lag_ms < lagLimitMs) return { ...base, state: 'ok', detail: `${stream}: ${waiting} rows wait` }
  const next = 'check that a process with the role all or worker runs, and how fast the receiver answers'
  return { ...base, state: 'warn', detail: lag, next }
}

const marks: Readonly<Record<Finding['state'], Piece>> = {
  ok: { text: 'ok    ', tone: 'good' },
  warn: { text: 'warn  ', tone: 'warning' },
  fail: { text: 'FAIL  ', tone: 'bad' },
}

/** Lines of a finding: state, name and detail, then the next step. */
export function findingLines({ name, state, detail, next }: Finding): Piece[][] {
  const [first = '', ...more] = detail.split('\n')
  const lines = [[marks[state], plain(`${name}: ${first}`)], ...more.map(line => [plain(`        ${line}`)])]
  return next === undefined ? lines : [...lines, [dim(`      → ${next}`)]]
}
