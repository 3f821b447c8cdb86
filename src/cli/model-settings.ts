import type { Client } from '../client/client.ts'
import type { ModelParams } from '../contract/model-settings.ts'
import type { ListArguments } from './agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

/** `models list`: lists the configured models. */
export async function listModels(client: Client, { limit, cursor }: ListArguments, out: Out): Promise<ExitCode> {
  const page = await client.modelSettings.list({ query: { limit, ...(cursor !== undefined && { cursor }) } })
  out.data(page)
  if (page.models.length === 0) {
    out.line('No models configured. Connect a provider: switchyard providers set <id>')
    return exitCodes.ok
  }
  const rows = page.models.map(({ id, source, error, model_name, params }) => [
    plainLine(id, 60),
    source,
    error === null ? 'ok' : 'not used',
    plainLine(model_name, 60),
    plainLine(String(params['model']), 80),
  ])
  printTable(out, ['ID', 'SOURCE', 'STATE', 'NAME', 'MODEL'], rows)
  for (const { id, error } of page.models) if (error !== null) out.note(`${id}: ${error}`)
  if (page.next_cursor !== null) out.note(dim(`More: --cursor ${page.next_cursor}`))
  return exitCodes.ok
}

interface AddArguments {
  readonly name: string
  readonly params: ModelParams
}

/** `models add`: prints the id for `models remove`. */
export async function addModel(client: Client, { name, params }: AddArguments, out: Out): Promise<ExitCode> {
  const model = await client.modelSettings.create({ body: { model_name: name, params } })
  out.data(model)
  out.line(model.id)
  out.note(dim(`Clients can now call ${model.model_name}.`))
  return exitCodes.ok
}

/** `models remove`. */
export async function removeModel(client: Client, { modelId }: { readonly modelId: string }, out: Out) {
  await client.modelSettings.remove({ params: { model_id: modelId } })
  out.data({ id: modelId, removed: true })
  out.line({ text: '✓ ', tone: 'good' }, `removed ${modelId}`)
  return exitCodes.ok
}
