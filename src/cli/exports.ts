import type { Client } from '../client/client.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { type ExportFile, parsedExport, yamlOf } from './export-file.ts'
import { endpointFields, environmentFields, readContent, skillFields } from './export-reader.ts'
import { applyImport, type NewSecret } from './import-apply.ts'
import { changesOf, type PlannedChange, planImport } from './import-plan.ts'
import { textOfInput } from './input-file.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

/** `export`: prints agents, skills, environments and webhooks as YAML, or as JSON with `--json`. */
export async function exportAll(client: Client, owner: string | undefined, out: Out): Promise<ExitCode> {
  const { skills, environments, agents, endpoints } = await readContent(client, owner)
  const file: ExportFile = {
    format: 'switchyard.export',
    format_version: 1,
    skills: skills.map(skillFields),
    environments: environments.map(environmentFields),
    agents: agents.map(({ exported }) => exported),
    webhook_endpoints: endpoints.map(endpointFields),
  }
  out.data(file)
  out.content(Buffer.from(yamlOf(file)))
  for (const { agent, omitted } of file.agents) {
    if (omitted.length > 0)
      out.note(dim(`${agent.name}: omitted because they may contain secrets: ${omitted.join(', ')}`))
  }
  return exitCodes.ok
}

interface ImportArguments {
  /** A path; `-` is standard input. */
  readonly path: string
  readonly readStdin: () => Promise<string>
  /** True: only prints the plan. */
  readonly isDryRun: boolean
}

/** `import`: creates and changes the objects of a file, and prints the plan. */
export async function importAll(client: Client, args: ImportArguments, out: Out): Promise<ExitCode> {
  const { path, readStdin, isDryRun } = args
  const text = await textOfInput(path, readStdin)
  const file = parsedExport(text, path)
  const content = await readContent(client, undefined)
  const plan = planImport(file, content)
  const changes = changesOf(plan)
  const shown = changes.filter(({ action }) => action !== 'unchanged').map(rowOf)
  if (shown.length > 0) printTable(out, ['PLAN', 'KIND', 'FIELDS', 'NAME'], shown)
  const counts = { created: 0, changed: 0, unchanged: 0 }
  for (const { action } of changes) counts[action] += 1
  out.line(
    `${counts.created} created, ${counts.changed} changed, ${counts.unchanged} unchanged${isDryRun ? ' (dry run)' : ''}`,
  )
  for (const remark of plan.remarks) out.warning(remark)
  const secrets: NewSecret[] = []
  const onSecret = (made: NewSecret) => {
    secrets.push(made)
    out.line(`secret of ${made.url}, not shown again: ${made.secret}`)
  }
  if (!isDryRun) await applyImport({ client, file, content, plan, onSecret })
  out.data({ is_dry_run: isDryRun, ...counts, changes, secrets })
  return exitCodes.ok
}

const rowOf = ({ kind, name, action, fields }: PlannedChange): string[] => [
  action === 'created' ? 'create' : 'change',
  kind,
  fields.length > 0 ? fields.join(', ') : '-',
  plainLine(name, 60),
]
