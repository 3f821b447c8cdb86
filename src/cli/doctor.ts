import type { Client } from '../client/client.ts'
import { ApiError } from '../client/failures.ts'
import type { Finding } from '../server/doctor.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out, type Piece, plain } from './out.ts'

interface DoctorArguments extends ServerInputs {
  readonly nodeVersion: string
}

const answerMs = 2_000

/** `doctor`: says what works here, what does not, and what to do about it. */
export async function doctor(
  { client, server }: { readonly client: Client; readonly server: LocalService },
  { nodeVersion, ...inputs }: DoctorArguments,
  out: Out,
): Promise<ExitCode> {
  const service = await examineService(client)
  // A running service holds its port: that is no finding then.
  const port = service.state === 'ok' ? undefined : await server.examinePort(inputs)
  const findings = [examineNode(nodeVersion), ...(await server.examine(inputs)), service, ...(port ? [port] : [])]
  const hasFailed = findings.some(({ state }) => state === 'fail')
  out.data({ ok: !hasFailed, findings })
  for (const line of findings.flatMap(findingLines)) out.line(...line)
  return hasFailed ? exitCodes.failed : exitCodes.ok
}

/** Whether this Node can run the sources. */
export function examineNode(version: string): Finding {
  const name = 'Node.js'
  if (Number.parseInt(version, 10) >= 24) return { name, state: 'ok', detail: version }
  const next = 'start with "npm start" or "switchyard serve", which use the Node 24 of the packages'
  return { name, state: 'fail', detail: `${version}, but 24 or newer is needed`, next }
}

/** A service that does not run is no fault: the next step starts it. */
async function examineService(client: Client): Promise<Finding> {
  const name = 'service'
  const { baseUrl } = client
  try {
    await client.system.ready({}, { signal: AbortSignal.timeout(answerMs) })
    return { name, state: 'ok', detail: `ready at ${baseUrl}` }
  } catch (error) {
    if (error instanceof ApiError) {
      const next = 'read its log; GET /health/ready says what is missing'
      return {
        name,
        state: 'warn',
        detail: `something answers at ${baseUrl}, but it is not ready (${error.message})`,
        next,
      }
    }
    return { name, state: 'warn', detail: `none at ${baseUrl}`, next: 'start it: npm start' }
  }
}

const marks: Readonly<Record<Finding['state'], Piece>> = {
  ok: { text: 'ok    ', tone: 'good' },
  warn: { text: 'warn  ', tone: 'warning' },
  fail: { text: 'FAIL  ', tone: 'bad' },
}

/** A finding as lines: state, name and detail, then the next step. */
export function findingLines({ name, state, detail, next }: Finding): Piece[][] {
  const [first = '', ...more] = detail.split('\n')
  const lines = [[marks[state], plain(`${name}: ${first}`)], ...more.map(line => [plain(`        ${line}`)])]
  return next === undefined ? lines : [...lines, [dim(`      → ${next}`)]]
}
