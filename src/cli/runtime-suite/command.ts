import type { Client } from '../../client/client.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { dim, type Out } from '../out.ts'
import type { SuitePrompts } from './context.ts'
import { capabilityTable, countsText, detailLine, resultLine } from './report.ts'
import { allCases, type CaseResult, runSuite } from './suite.ts'

/** Default prompts, for any model. */
export const plainPrompts: SuitePrompts = {
  plain: 'Reply with the word ready.',
  text: 'Write two sentences about the sea.',
  tool: 'Run the shell command: echo hello',
  long: 'Run the shell command: sleep 15; echo done',
}

interface TestArguments {
  readonly id: string
  readonly model?: string | undefined
  readonly prompts: SuitePrompts
  readonly owner: string
  readonly withinMs: number
  readonly only?: readonly string[] | undefined
  readonly nowMs: () => number
  readonly stop: AbortSignal
}

/** `runtimes test`: runs the conformance suite on a runtime; exit code 1 when a case fails. */
export async function testRuntime(client: Client, args: TestArguments, out: Out): Promise<ExitCode> {
  const { id, only, nowMs } = args
  const unknown = only?.find(name => allCases.every(one => one.id !== name))
  if (unknown !== undefined) {
    const known = allCases.map(one => one.id).join(', ')
    throw new CommandFailed(`unknown case "${unknown}"; cases: ${known}`, exitCodes.usage)
  }
  const capabilities = await capabilitiesOf(client, id)
  const startedMs = nowMs()
  const results: CaseResult[] = []
  for await (const result of runSuite({ ...args, client, runtime: id, model: args.model, capabilities })) {
    results.push(result)
    out.line(...resultLine(result))
    const detail = detailLine(result)
    if (detail) out.line(detail)
  }
  const failed = results.filter(({ outcome }) => outcome === 'failed').length
  out.data({ runtime: id, capabilities, ok: failed === 0, duration_ms: Math.round(nowMs() - startedMs), results })
  out.line(failed === 0 ? { text: '✓ ', tone: 'good' } : { text: '✗ ', tone: 'bad' }, `${id}: ${countsText(results)}`)
  return failed === 0 ? exitCodes.ok : exitCodes.failed
}

async function capabilitiesOf(client: Client, id: string) {
  const { harnesses } = await client.runtimeHarnesses.list()
  const found = harnesses.find(({ alias }) => alias === id)
  if (!found) {
    const known = harnesses.map(({ alias }) => alias).join(', ')
    throw new CommandFailed(`unknown runtime "${id}"; runtimes: ${known}`, exitCodes.notFound)
  }
  if (!found.connected) {
    throw new CommandFailed(`${id} is not connected; see "switchyard runtimes connect --help"`, exitCodes.blocked)
  }
  return found.capabilities
}

/** `runtimes test --capabilities`: prints the capabilities that runtimes claim, as a Markdown table. */
export async function showCapabilities(
  client: Client,
  { id }: { readonly id?: string | undefined },
  out: Out,
): Promise<ExitCode> {
  const { harnesses } = await client.runtimeHarnesses.list()
  const shown = harnesses.filter(({ alias }) => id === undefined || alias === id)
  if (shown.length === 0) throw new CommandFailed(`unknown runtime "${id}"`, exitCodes.notFound)
  out.data({ runtimes: shown.map(({ alias, capabilities }) => ({ id: alias, capabilities })) })
  for (const line of capabilityTable(shown)) out.line(line)
  if (out.isLive) out.note(dim('Check a runtime: switchyard runtimes test <alias>'))
  return exitCodes.ok
}
