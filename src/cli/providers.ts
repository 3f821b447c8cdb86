import type { Client } from '../client/client.ts'
import type { Provider, ProviderWrite } from '../contract/providers.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { elapsedText } from './format.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

/** `providers list`: lists all providers and their connection. */
export async function listProviders(client: Client, out: Out): Promise<ExitCode> {
  const answer = await client.providers.list()
  out.data(answer)
  const rows = answer.providers.map(provider => [
    provider.id,
    stateOf(provider),
    provider.source ?? '-',
    provider.masked_api_key ?? '-',
    plainLine(provider.api_base ?? '-', 80),
  ])
  printTable(out, ['ID', 'STATE', 'SOURCE', 'KEY', 'API BASE'], rows)
  for (const { id, error } of answer.providers) if (error !== null) out.note(`${id}: ${error}`)
  return exitCodes.ok
}

const stateOf = ({ connected, error }: Provider): string =>
  error !== null ? 'not used' : connected ? 'connected' : '-'

interface SetArguments {
  readonly providerId: string
  readonly body: ProviderWrite
}

/** `providers set`: stores a credential, replacing the previous one. */
export async function setProvider(client: Client, { providerId, body }: SetArguments, out: Out): Promise<ExitCode> {
  const provider = await client.providers.set({ params: { provider_id: providerId }, body })
  out.data(provider)
  out.line({ text: '✓ ', tone: 'good' }, `${provider.id} is connected; its models are ${provider.id}/<model>`)
  out.note(dim(`Test it: switchyard providers test ${provider.id}`))
  return exitCodes.ok
}

interface Which {
  readonly providerId: string
}

/** `providers test`: returns exit code 1 when the provider rejects the credential. */
export async function testProvider(client: Client, { providerId }: Which, out: Out): Promise<ExitCode> {
  const { ok, latency_ms, error } = await client.providers.test({ params: { provider_id: providerId } })
  out.data({ ok, latency_ms, ...(error !== undefined && { error }) })
  if (ok) out.line({ text: '✓ ', tone: 'good' }, `${providerId} accepts the credential (${elapsedText(latency_ms)})`)
  else out.line({ text: '✗ ', tone: 'bad' }, error ?? 'test failed')
  return ok ? exitCodes.ok : exitCodes.failed
}

/** `providers remove`: removes the credential; the provider's models can no longer be called. */
export async function removeProvider(client: Client, { providerId }: Which, out: Out): Promise<ExitCode> {
  await client.providers.remove({ params: { provider_id: providerId } })
  out.data({ id: providerId, removed: true })
  out.line({ text: '✓ ', tone: 'good' }, `removed the credential of ${providerId}`)
  return exitCodes.ok
}
