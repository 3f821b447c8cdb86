import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
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

/** `skills import`: imports the SKILL.md of a folder, or of its subfolders; prints the new ids. */
export async function importSkills(
  client: Client,
  { folder }: { readonly folder: string },
  out: Out,
): Promise<ExitCode> {
  const found = await skillFolders(folder)
  if (found.length === 0) throw new CommandFailed(`no SKILL.md in ${folder} or its subfolders`, exitCodes.usage)
  const made: Skill[] = []
  for (const { path, others } of found) {
    const skill = await client.skills.import({ body: { text: await readFile(join(path, 'SKILL.md'), 'utf8') } })
    made.push(skill)
    out.line(skill.id, '  ', plainLine(skill.name, 60))
    if (others > 0)
      out.note(dim(`${path}: imported only SKILL.md; references to the ${others} other files will not work`))
  }
  out.data({ data: made })
  return exitCodes.ok
}

interface SkillFolder {
  readonly path: string
  /** Number of other entries in the folder. */
  readonly others: number
}

async function skillFolders(folder: string): Promise<SkillFolder[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`cannot read folder ${folder}: ${error.code ?? error.message}`, exitCodes.usage)
  })
  const here = skillIn(folder, entries)
  if (here.length > 0) return here
  const folders = entries.filter(entry => entry.isDirectory()).map(({ name }) => join(folder, name))
  const below = await Promise.all(
    folders.sort().map(async path => skillIn(path, await readdir(path, { withFileTypes: true }))),
  )
  return below.flat()
}

const skillIn = (path: string, entries: readonly { readonly name: string }[]): SkillFolder[] =>
  entries.some(({ name }) => name === 'SKILL.md') ? [{ path, others: entries.length - 1 }] : []

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
