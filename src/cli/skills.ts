import { openAsBlob } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Client } from '../client/client.ts'
import type { Skill } from '../contract/skills.ts'
import type { ListArguments } from './agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

/** `skills ls`: lists the skills of the caller, newest first. */
export async function listSkills(client: Client, { limit, cursor }: ListArguments, out: Out): Promise<ExitCode> {
  const page = await client.skills.list({ query: { limit, ...(cursor !== undefined && { cursor }) } })
  out.data(page)
  if (page.data.length === 0) {
    out.line('No skills yet. Import one: switchyard skills import <folder with a SKILL.md>')
    return exitCodes.ok
  }
  const rows = page.data.map(({ id, name, description }) => [
    id,
    plainLine(name, 40),
    plainLine(description ?? '-', 80),
  ])
  printTable(out, ['ID', 'NAME', 'DESCRIPTION'], rows)
  if (page.next_cursor !== null) out.note(dim(`More: --cursor ${page.next_cursor}`))
  return exitCodes.ok
}

/** `skills import`: uploads a folder with a SKILL.md, or its subfolders that have one; prints the new ids. */
export async function importSkills(
  client: Client,
  { folder }: { readonly folder: string },
  out: Out,
): Promise<ExitCode> {
  const found = await skillFolders(folder)
  if (found.length === 0) throw new CommandFailed(`no SKILL.md in ${folder} or its subfolders`, exitCodes.usage)
  const made: Skill[] = []
  for (const path of found) {
    const { form, leftOut } = await formOf(path)
    const { id } = await client.skillFolders.create({}, { form })
    const skill = await client.skills.get({ params: { skill_id: id } })
    made.push(skill)
    out.line(skill.id, '  ', plainLine(skill.name, 60))
    if (leftOut.length > 0) out.note(dim(`${path}: left out ${plainLine(leftOut.join(', '), 200)}`))
  }
  out.data({ data: made })
  return exitCodes.ok
}

/** Returns the folder as a form. Hidden files and what is not a regular file are left out. */
async function formOf(folder: string): Promise<{ form: FormData; leftOut: readonly string[] }> {
  const top = basename(resolve(folder))
  const form = new FormData()
  const leftOut: string[] = []
  const add = async (below: string): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true })
    for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (!entry.name.startsWith('.') && entry.isDirectory()) await add(path)
      else if (!entry.name.startsWith('.') && entry.isFile())
        form.append('files[]', await openAsBlob(join(folder, path)), `${top}/${path}`)
      else leftOut.push(path)
    }
  }
  await add('')
  return { form, leftOut }
}

async function skillFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`cannot read folder ${folder}: ${error.code ?? error.message}`, exitCodes.usage)
  })
  if (hasSkill(entries)) return [folder]
  const found: string[] = []
  for (const path of entries.flatMap(entry => (entry.isDirectory() ? [join(folder, entry.name)] : [])).sort())
    if (hasSkill(await readdir(path, { withFileTypes: true }))) found.push(path)
  return found
}

const hasSkill = (entries: readonly { readonly name: string }[]): boolean =>
  entries.some(({ name }) => name === 'SKILL.md')

interface AttachArguments {
  readonly agentId: string
  readonly skillId: string
}

/** `skills attach`: attaches a skill; repeating it changes nothing. */
export async function attachSkill(client: Client, { agentId, skillId }: AttachArguments, out: Out): Promise<ExitCode> {
  const answer = await client.skills.attach({ params: { agent_id: agentId }, body: { skill_id: skillId } })
  out.data(answer)
  out.line({ text: '✓ ', tone: 'good' }, `${skillId} is attached to ${agentId} (version ${answer.agent.version})`)
  return exitCodes.ok
}

interface DetachArguments {
  readonly agentId: string
  /** Absent: all skills. */
  readonly skillId?: string | undefined
}

/** `skills detach`: detaches one skill, or all. */
export async function detachSkill(client: Client, { agentId, skillId }: DetachArguments, out: Out): Promise<ExitCode> {
  const query = skillId === undefined ? {} : { skill_id: skillId }
  const answer = await client.skills.detach({ params: { agent_id: agentId }, query })
  out.data(answer)
  const what = skillId ?? 'all skills'
  out.line({ text: '✓ ', tone: 'good' }, `detached ${what} from ${agentId} (version ${answer.agent.version})`)
  return exitCodes.ok
}

interface UpgradeArguments {
  readonly skillId: string
  readonly isDryRun: boolean
  readonly withEdited: boolean
}

/** `skills upgrade`: prints one line per agent that has the skill. */
export async function upgradeSkill(client: Client, args: UpgradeArguments, out: Out): Promise<ExitCode> {
  const body = { dry_run: args.isDryRun, include_edited: args.withEdited }
  const answer = await client.skills.upgrade({ params: { skill_id: args.skillId }, body })
  out.data(answer)
  const rows = answer.data.map(({ agent_id, state, version, name }) => [
    agent_id,
    state,
    `${version}`,
    plainLine(name, 60),
  ])
  if (rows.length === 0) out.line('No agent has this skill.')
  else printTable(out, ['AGENT', 'STATE', 'VERSION', 'NAME'], rows)
  return exitCodes.ok
}
