import { readFile } from 'node:fs/promises'
import type { Client } from '../client/client.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { type ExportFile, parsedExport, yamlOf } from './export-file.ts'
import { endpointFields, readContent } from './export-reader.ts'
import { CommandFailed } from './failures.ts'
import { applyImport } from './import-apply.ts'
import { changesOf, type PlannedChange, planImport } from './import-plan.ts'
import { dim, type Out, plain } from './out.ts'
import { plainLine } from './plain-text.ts'

/** `export`: prints agents, skills and webhooks as YAML, or as JSON with `--json`. */
export async function exportAll(client: Client, owner: string | undefined, out: Out): Promise<ExitCode> {
  const { skills, agents, endpoints } = await readContent(client, owner)
  const file: ExportFile = {
    format: 'switchyard.export',
    format_version: 1,
    skills: skills.map(({ name, description, content }) => ({ name, description, content })),
    agents: agents.map(({ exported }) => exported),
    webhook_endpoints: endpoints.map(endpointFields),
  }
  out.data(file)
  out.text(plain(yamlOf(file)))
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
  const text = await (path === '-' ? readStdin() : readFile(path, 'utf8')).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`cannot read file ${path}: ${error.code ?? error.message}`, exitCodes.usage)
  })
  const file = parsedExport(text, path)
  const content = await readContent(client, undefined)
  const plan = planImport(file, content)
  const changes = changesOf(plan)
  for (const line of changes.flatMap(changeLines)) out.line(line)
  const counts = { created: 0, changed: 0, unchanged: 0 }
  for (const { action } of changes) counts[action] += 1
  out.line(
    `${counts.created} created, ${counts.changed} changed, ${counts.unchanged} unchanged${isDryRun ? ' (dry run)' : ''}`,
  )
  for (const remark of plan.remarks) out.warning(remark)
  const secrets = isDryRun ? [] : await applyImport({ client, file, content, plan })
  for (const { url, secret } of secrets) out.line(`secret of ${url}, not shown again: ${secret}`)
  out.data({ is_dry_run: isDryRun, ...counts, changes, secrets })
  return exitCodes.ok
}

function changeLines({ kind, name, action, fields }: PlannedChange): string[] {
  if (action === 'unchanged') return []
  return [`${action}  ${kind} ${plainLine(name, 60)}${fields.length > 0 ? `: ${fields.join(', ')}` : ''}`]
}
