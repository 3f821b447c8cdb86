import type { Client } from '../client/client.ts'
import type { CredentialWrite, HarnessCreate, RuntimeHarness } from '../contract/runtimes.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { elapsedText } from './format.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

/** `runtimes list`: lists all runtimes and their connection. */
export async function listRuntimes(client: Client, out: Out): Promise<ExitCode> {
  const answer = await client.runtimeHarnesses.list()
  out.data(answer)
  const rows = answer.harnesses.map(harness => [
    plainLine(harness.alias, 64),
    harness.api_spec,
    stateOf(harness),
    harness.masked_api_key ?? '-',
    plainLine(harness.api_base || '-', 80),
  ])
  printTable(out, ['ID', 'SPEC', 'STATE', 'KEY', 'API BASE'], rows)
  for (const { alias, last_error } of answer.harnesses) if (last_error !== null) out.note(`${alias}: ${last_error}`)
  return exitCodes.ok
}

const stateOf = ({ connected, last_error }: RuntimeHarness): string => {
  if (!connected) return last_error === null ? '-' : 'not used'
  return last_error === null ? 'connected' : 'failing'
}

interface Which {
  readonly id: string
}

/** `runtimes connect`: stores the key of a built-in runtime, replacing the previous one. */
export async function connectRuntime(
  client: Client,
  { id, body }: Which & { readonly body: CredentialWrite },
  out: Out,
): Promise<ExitCode> {
  const { runtimes } = await client.agentRuntimes.connect({ params: { runtime_id: id }, body })
  out.data(runtimes.find(runtime => runtime.id === id))
  out.line({ text: '✓ ', tone: 'good' }, `stored the key of ${id}`)
  out.note(dim(`Check it: switchyard runtimes check ${id}`))
  return exitCodes.ok
}

/** `runtimes disconnect`: removes the key; sessions can no longer run on the runtime. */
export async function disconnectRuntime(client: Client, { id }: Which, out: Out): Promise<ExitCode> {
  await client.agentRuntimes.disconnect({ params: { runtime_id: id } })
  out.data({ id, connected: false })
  out.line({ text: '✓ ', tone: 'good' }, `removed the key of ${id}`)
  return exitCodes.ok
}

/** `runtimes add`: registers a harness. */
export async function addRuntime(
  client: Client,
  { body }: { readonly body: HarnessCreate },
  out: Out,
): Promise<ExitCode> {
  const { harnesses } = await client.runtimeHarnesses.create({ body })
  out.data(harnesses.find(({ alias }) => alias === body.alias))
  out.line({ text: '✓ ', tone: 'good' }, `registered ${body.alias}; agents can use it as their runtime`)
  out.note(dim(`Check it: switchyard runtimes check ${body.alias}`))
  return exitCodes.ok
}

/** `runtimes remove`: removes a registered harness. */
export async function removeRuntime(client: Client, { id }: Which, out: Out): Promise<ExitCode> {
  await client.runtimeHarnesses.remove({ params: { alias: id } })
  out.data({ id, removed: true })
  out.line({ text: '✓ ', tone: 'good' }, `removed ${id}`)
  return exitCodes.ok
}

/** `runtimes check`: returns exit code 1 when the runtime does not respond or rejects the key. */
export async function checkRuntime(client: Client, { id }: Which, out: Out): Promise<ExitCode> {
  const { ok, latency_ms, error } = await client.agentRuntimes.test({ params: { runtime_id: id } })
  out.data({ ok, latency_ms, ...(error !== undefined && { error }) })
  if (ok) out.line({ text: '✓ ', tone: 'good' }, `${id} responds (${elapsedText(latency_ms)})`)
  else out.line({ text: '✗ ', tone: 'bad' }, error ?? 'check failed')
  return ok ? exitCodes.ok : exitCodes.failed
}
