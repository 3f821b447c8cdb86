import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Argument, type Command } from 'commander'
import type { Client } from '../../client/client.ts'
import { type Batch, type BatchEndpoint, batchRoutes, type MessageBatch } from '../../contract/batches.ts'
import { storedFileRoutes } from '../../contract/stored-files.ts'
import { type ConfirmOptions, destroying, yesOption } from '../confirm.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import type { Out } from '../out.ts'
import { someText } from '../parse.ts'
import { type Registry, withExamples } from '../world.ts'
import { addGroup } from './group.ts'
import { ago, printFields, rows } from './show.ts'

/** A batch of either format, as a list shows it. */
interface Listed {
  readonly id: string
  readonly status: string
  readonly requests: number
  readonly done: number
  readonly failed: number
  readonly createdAt: string
}

const listLimit = 50

/** Adds `batches`. Ids tell the formats apart: `msgbatch_...` is of Anthropic's, `batch_...` of OpenAI's. */
export function addBatchCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'batches', 'model requests that are made in the background', [
    'switchyard batches create requests.jsonl',
    'switchyard batches results msgbatch_0199 > results.jsonl',
  ])
  addList(group, registry)
  addCreate(group, registry)
  addOne(group, registry)
}

function addList(group: Command, { doing, world }: Registry): void {
  const command = group
    .command('ls')
    .description(`list the newest batches of both formats, ${listLimit} of each`)
    .action(
      doing(async ({ client, out }) => {
        const query = { limit: listLimit }
        const messages = await client.batches.list_messages({ query })
        const files = await client.batches.list({ query })
        const all = [...messages.data.map(listedMessages), ...files.data.map(listedFile)]
        all.sort((a, b) => b.createdAt.localeCompare(a.createdAt))
        out.data({ message_batches: messages.data, batches: files.data })
        show(all, { out, nowMs: world.nowMs() })
        return exitCodes.ok
      }),
    )
  withExamples(command, ['switchyard batches ls', 'switchyard batches ls --json'])
}

const show = rows(
  (all: readonly Listed[]) => all,
  [
    ['ID', ({ id }) => id],
    ['STATUS', ({ status }) => status],
    ['REQUESTS', ({ requests }) => String(requests)],
    ['DONE', ({ done }) => String(done)],
    ['FAILED', ({ failed }) => String(failed)],
    ['CREATED', ({ createdAt }, now) => ago(createdAt, now)],
  ],
  { empty: 'No batches. Create one: switchyard batches create --help', dropFirst: ['CREATED'] },
)

function listedMessages({ id, processing_status: status, request_counts: counts, created_at }: MessageBatch): Listed {
  const { processing, succeeded, errored, canceled, expired } = counts
  const failed = errored + canceled + expired
  return { id, status, requests: processing + succeeded + failed, done: succeeded, failed, createdAt: created_at }
}

const listedFile = ({ id, status, request_counts: { total, completed, failed }, created_at }: Batch): Listed => ({
  id,
  status,
  requests: total,
  done: completed,
  failed,
  createdAt: new Date(created_at * 1_000).toISOString(),
})

interface CreateOptions {
  readonly endpoint?: BatchEndpoint
}

function addCreate(group: Command, { doing }: Registry): void {
  const command = group
    .command('create')
    .description('create a batch and print its id')
    .argument(
      '<file>',
      'JSON lines of {custom_id, params} with requests in Anthropic’s format; with --endpoint the id of an uploaded file in OpenAI’s format',
      someText,
    )
    .option('--endpoint <path>', 'endpoint of all requests of an uploaded file, such as /v1/chat/completions')
    .action(
      doing<CreateOptions>(async ({ client, out }, { endpoint }, [file = '']) => {
        const batch =
          endpoint === undefined
            ? await client.batches.create_messages({ body: { requests: await requestsIn(file) } })
            : await client.batches.create({ body: { input_file_id: file, endpoint, completion_window: '24h' } })
        out.data(batch)
        out.line(batch.id)
        return exitCodes.ok
      }),
    )
  withExamples(command, [
    'switchyard batches create requests.jsonl',
    'switchyard batches create file_0199 --endpoint /v1/chat/completions',
  ])
}

type Requests = Parameters<Client['batches']['create_messages']>[0]['body']['requests']

/** The service checks the fields of each request. */
async function requestsIn(path: string): Promise<Requests> {
  const requests: Requests = []
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw new CommandFailed(`cannot read file ${path}: no such file`, exitCodes.usage)
  let number = 0
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    number++
    if (line.trim() !== '') requests.push(parsed(line, `${path}:${number}`))
  }
  return requests
}

function parsed(line: string, place: string): Requests[number] {
  try {
    return JSON.parse(line)
  } catch {
    throw new CommandFailed(`${place}: line is not valid JSON`, exitCodes.usage)
  }
}

function addOne(group: Command, registry: Registry): void {
  const { doing } = registry
  const named = () => new Argument('<batch>', 'id of the batch').argParser(someText)
  const on = (name: string, text: string) => group.command(name).description(text).addArgument(named())

  const showing = on('show', 'show a batch with its counts').action(
    doing(async ({ client, out }, _, [id = '']) => {
      const params = { batch_id: id }
      const batch = isOfMessages(id)
        ? await client.batches.get_message({ params })
        : await client.batches.get({ params })
      out.data(batch)
      printFields(out, { ...batch })
      return exitCodes.ok
    }),
  )
  withExamples(showing, ['switchyard batches show msgbatch_0199'])

  const results = on('results', 'print the results of a batch as JSON lines').action(
    doing(async ({ client, out }, _, [id = '']) => {
      const params = { batch_id: id }
      if (isOfMessages(id)) await print(await client.open(batchRoutes.results, { params }), out)
      else await printFiles(await client.batches.get({ params }), client, out)
      return exitCodes.ok
    }),
  )
  withExamples(results, ['switchyard batches results msgbatch_0199 > results.jsonl'])

  const cancelling = on('cancel', 'cancel the requests that have not started').action(
    doing(async ({ client, out }, _, [id = '']) => {
      const params = { batch_id: id }
      const batch = isOfMessages(id)
        ? await client.batches.cancel_messages({ params })
        : await client.batches.cancel({ params })
      out.data(batch)
      out.line({ text: '✓ ', tone: 'good' }, `cancelled ${id}; requests in flight are finished`)
      return exitCodes.ok
    }),
  )
  withExamples(cancelling, ['switchyard batches cancel msgbatch_0199'])

  const removing = on('rm', 'delete a batch in Anthropic’s format with its results')
    .option(...yesOption)
    .action(
      destroying(
        registry,
        ([id]) => `delete batch ${id} with its results`,
        async ({ client, out }, _: ConfirmOptions, [id = '']) => {
          if (!isOfMessages(id))
            throw new CommandFailed(
              `batch ${id} is of OpenAI’s format, whose batches cannot be deleted; delete its files instead`,
              exitCodes.usage,
            )
          out.data(await client.batches.remove_messages({ params: { batch_id: id } }))
          out.line({ text: '✓ ', tone: 'good' }, `deleted ${id}`)
          return exitCodes.ok
        },
      ),
    )
  withExamples(removing, ['switchyard batches rm msgbatch_0199 --yes'])
}

const isOfMessages = (id: string): boolean => id.startsWith('msgbatch_')

/** Prints the output file, then the error file. */
async function printFiles(batch: Batch, client: Client, out: Out): Promise<void> {
  const ids = [batch.output_file_id, batch.error_file_id].filter(id => id !== null)
  if (ids.length === 0)
    throw new CommandFailed(`batch ${batch.id} has no results; its status is ${batch.status}`, exitCodes.failed)
  for (const file_id of ids) await print(await client.open(storedFileRoutes.content, { params: { file_id } }), out)
}

/** Results are JSON lines with and without `--json`. */
async function print(response: Response, out: Out): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) printLine(line, out)
  }
  if (rest !== '') printLine(rest, out)
}

function printLine(line: string, out: Out): void {
  if (out.isJson) out.data(JSON.parse(line))
  else out.line(line)
}
