import { type Command, Option } from 'commander'
import type { Client } from '../../client/client.ts'
import { type CaseWrite, type DatasetCase, datasetRoutes, maxCasesOfRequest } from '../../contract/datasets.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { caseFinder, datasetFinder, sessionFinder } from '../finders.ts'
import { textOfInput } from '../input-file.ts'
import { NameArgument, NameOption } from '../names.ts'
import type { Out } from '../out.ts'
import { jsonText, someText } from '../parse.ts'
import { plainLine } from '../plain-text.ts'
import { printTable } from '../table.ts'
import { type Registry, withExamples } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import { ago, done, id, printFields, rows } from './show.ts'

const which: FieldArgument = {
  field: 'dataset_id',
  name: 'dataset',
  text: 'id or name of the dataset',
  finder: datasetFinder,
}

/** Adds `datasets`. */
export function addDatasetCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'datasets', 'lists of prompts with checks, for experiments', [
    'switchyard datasets ls',
    'switchyard datasets add support cases.jsonl',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: datasetRoutes.list,
    text: 'list datasets, newest first',
    show: rows(
      ({ datasets }) => datasets,
      [
        ['ID', ({ id }) => id],
        ['CASES', ({ cases }) => String(cases)],
        ['CHANGED', ({ updated_at }, now) => ago(updated_at, now)],
        ['NAME', ({ name }) => name],
      ],
      { empty: 'No datasets. Create one: switchyard datasets create <name>', dropFirst: ['CHANGED'] },
    ),
    examples: ['switchyard datasets ls'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: datasetRoutes.get,
    text: 'show a dataset and its cases',
    args: [which],
    show: async (dataset, { client, out }) => {
      if (out.isJson) return undefined
      printFields(out, dataset)
      const cases = await allCases(client, dataset.id)
      if (cases.length > 0) printTable(out, ['ID', 'GRADERS', 'RECORDED', 'NAME'], cases.map(rowOf))
      return undefined
    },
    examples: ['switchyard datasets show support'],
  })
  addRouteCommand(group, registry, {
    name: 'create',
    route: datasetRoutes.create,
    text: 'create an empty dataset and print its id',
    args: [{ field: 'name', text: 'name of the dataset' }],
    fields: [{ field: 'description', text: 'what its cases are about' }],
    show: id(({ id }) => id),
    examples: ['switchyard datasets create support'],
  })
  addAdd(group, registry)
  addRouteCommand(group, registry, {
    name: 'rm',
    route: datasetRoutes.remove,
    text: 'delete a dataset with its cases; results of experiments stay',
    args: [which],
    destroys: ([id]) => `delete dataset ${id} with its cases`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard datasets rm support --yes'],
  })
  addRouteCommand(group, registry, {
    name: 'rm-case',
    route: datasetRoutes.removeCase,
    text: 'delete a case of a dataset',
    args: [which, { field: 'case_id', name: 'case', text: 'id or name of the case', finder: caseFinder }],
    destroys: ([, id]) => `delete case ${id}`,
    show: done((_, [, id]) => `deleted ${id}`),
    examples: ['switchyard datasets rm-case support "Refund in euros" --yes'],
  })
}

const rowOf = ({ id, graders, recorded_calls, name }: DatasetCase): string[] => [
  id,
  plainLine(graders.map(({ type }) => type).join(', ') || '-', 40),
  recorded_calls === null ? '-' : String(recorded_calls),
  plainLine(name, 100),
]

async function allCases(client: Client, dataset_id: string): Promise<DatasetCase[]> {
  const all: DatasetCase[] = []
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 200, ...(cursor !== undefined && { cursor }) }
    const page = await client.datasets.cases({ params: { dataset_id }, query })
    all.push(...page.cases)
    if (page.next_cursor === null) return all
    cursor = page.next_cursor
  }
}

interface AddOptions {
  readonly session?: string
  readonly prompt?: string
  readonly name?: string
  readonly graders?: { readonly value: unknown }
  readonly redact?: boolean
}

function addAdd(group: Command, registry: Registry): void {
  const command = group
    .command('add')
    .description('add cases: those of a JSONL file, or a prompt of a session; exit code 1 when a case was rejected')
    .addArgument(new NameArgument('<dataset>', which.text, datasetFinder))
    .argument('[file]', 'file with one case per line, - for standard input', someText)
    .addOption(new NameOption('--session <session>', 'session of the prompt to add', sessionFinder))
    .option('--prompt <id>', 'prompt to add, with its recorded tool results; default: the last one of the session')
    .option('--name <text>', 'name of the case from a session', someText)
    .addOption(new Option('--graders <json>', 'graders of the case from a session').argParser(jsonText))
    .option('--redact', 'replace what looks like a secret, instead of rejecting the case')
    .action(
      registry.doing<AddOptions>(async ({ client, out }, options, [dataset = '', file]) => {
        if ((file === undefined) === (options.session === undefined))
          throw new CommandFailed('give a file, or --session', exitCodes.usage)
        const cases =
          options.session === undefined
            ? casesIn(await textOfInput(file ?? '-', registry.world.stdin.read))
            : [await caseOfSession(client, options.session, options)]
        return addCases(client, { dataset_id: dataset, cases, redact: options.redact ?? false }, out)
      }),
    )
  withExamples(command, [
    'switchyard datasets add support cases.jsonl',
    'switchyard datasets add support --session ses_0199 --graders \'[{"type":"contains","value":"refund"}]\'',
  ])
}

async function caseOfSession(client: Client, session_id: string, given: AddOptions): Promise<CaseWrite> {
  const { name, graders } = given
  const prompt_id = given.prompt ?? (await lastPrompt(client, session_id))
  return {
    source: { session_id, prompt_id },
    ...(name !== undefined && { name }),
    ...(graders && { graders: graders.value as NonNullable<CaseWrite['graders']> }),
  }
}

async function lastPrompt(client: Client, session_id: string): Promise<string> {
  const { data } = await client.sessions.prompts({ params: { session_id }, query: { limit: 200 } })
  const last = data.findLast(({ state }) => state === 'done' || state === 'error')
  if (!last) throw new CommandFailed(`session ${session_id} has no prompt that has ended`, exitCodes.failed)
  return last.id
}

/** Reads one case per line; blank lines are skipped. */
function casesIn(text: string): CaseWrite[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    try {
      return [JSON.parse(line) as CaseWrite]
    } catch {
      throw new CommandFailed(`line ${at + 1} is not JSON`, exitCodes.usage)
    }
  })
}

interface Adding {
  readonly dataset_id: string
  readonly cases: readonly CaseWrite[]
  readonly redact: boolean
}

async function addCases(client: Client, { dataset_id, cases, redact }: Adding, out: Out): Promise<ExitCode> {
  if (cases.length === 0) throw new CommandFailed('the file has no cases', exitCodes.usage)
  let added = 0
  let rejected = 0
  for (let at = 0; at < cases.length; at += maxCasesOfRequest) {
    const body = { cases: cases.slice(at, at + maxCasesOfRequest), redact }
    const answer = await client.datasets.add({ params: { dataset_id }, body })
    out.data(answer)
    added += answer.cases.length
    rejected += answer.rejected.length
    for (const { index, name, reason } of answer.rejected)
      out.warning(`case ${at + index + 1}${name === null ? '' : ` (${plainLine(name, 80)})`} was rejected: ${reason}`)
  }
  out.line(`${added} added, ${rejected} rejected`)
  return rejected === 0 ? exitCodes.ok : exitCodes.failed
}
