import { type Agent, maxPromptLength } from '../../contract/agents.ts'
import { skillMarker } from '../../contract/attached-skill.ts'
import type {
  AgentCopies,
  CarriedSkill,
  CarryingAgent,
  CopyState,
  Skill,
  SkillAttach,
  SkillComparison,
  SkillCreate,
  SkillUpgrade,
  Upgraded,
} from '../../contract/skills.ts'
import type { Agents } from '../agents/agents.ts'
import type { RunSql } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { lineDiff } from '../platform/line-diff.ts'
import {
  attach,
  attachedIds,
  type BlockSource,
  copyOf,
  copyState,
  detach,
  detachAll,
  markerStart,
  maxAttached,
  type PromptWithSkills,
  renew,
} from './blocks.ts'
import { checkedContent } from './content.ts'
import type { By, Skills } from './skills.ts'

interface Deps {
  readonly skills: Skills
  readonly agents: Pick<Agents, 'get' | 'editPrompt' | 'withText'>
}

interface Attached {
  readonly agent: Agent
  readonly skill?: Skill
}

interface PageOf {
  readonly after: string | undefined
  readonly limit: number
}

const upgradePage = 200

/** Skills that are attached to agents. Each change locks the agent's row and adds a version. */
export type Attachments = ReturnType<typeof createAttachments>

export function createAttachments({ skills, agents }: Deps) {
  /** Appends a block; `save` stores an inline skill in the transaction of the agent's change. */
  async function append(agentId: string, source: BlockSource, by: By, save?: (sql: RunSql) => Promise<void>) {
    const edit = { id: agentId, action: 'attach_skill', also: save && ((sql: RunSql) => save(sql)), ...by }
    return agents.editPrompt(edit, agent => {
      const prompt = attach(agent, source)
      if (prompt === agent) return undefined
      if (prompt.skills.length > maxAttached)
        throw invalid(`agent has ${maxAttached} skills, the maximum; detach one first`)
      if (isTooLong(prompt)) throw invalid(`system prompt would have more than ${maxPromptLength} characters`)
      return prompt
    })
  }

  async function attachInline(agentId: string, write: SkillCreate, isSaved: boolean, by: By): Promise<Attached> {
    const source = { ...write, id: newId('skill') }
    if (!isSaved) return { agent: await append(agentId, source, by) }
    const saved: Skill[] = []
    const agent = await append(agentId, source, by, async sql => {
      saved.push(await skills.insert(sql, source.id, write, by))
    })
    const [skill] = saved
    return { agent, ...(skill && { skill }) }
  }

  /** Returns the skills of the caller's library that are attached to these agents, by id. */
  async function libraryOf(carriers: readonly PromptWithSkills[], caller: Caller): Promise<Library> {
    const ids = new Set(carriers.flatMap(attachedIds))
    return new Map((await skills.among(caller, [...ids])).map(skill => [skill.id, skill]))
  }

  async function upgradeOne(agentId: string, skill: Skill, selection: SkillUpgrade, by: By) {
    const found: { state: Upgraded['state'] | undefined } = { state: undefined }
    const edit = { id: agentId, action: 'upgrade_skill', ...by }
    const agent = await agents.editPrompt(edit, prompt => {
      found.state = copyState(prompt, skill.id, skill.content)
      if (!isSelected(found.state, prompt, { id: skill.id, selection })) return undefined
      const renewed = renew(prompt, skill)
      if (isTooLong(renewed)) found.state = 'too_long'
      if (found.state === 'too_long' || selection.dry_run) return undefined
      found.state = 'upgraded'
      return renewed
    })
    const { id: agent_id, name, version } = agent
    return found.state === undefined ? [] : [{ agent_id, name, version, state: found.state }]
  }

  return {
    /** Appends a skill to the agent's prompt. Interface: Skills, rules 1 to 3. */
    async attach(agentId: string, write: SkillAttach, by: By): Promise<Attached> {
      if (write.skill_id !== undefined) {
        await agents.get(agentId, by.caller)
        const skill = await skills.get(write.skill_id, by.caller)
        return { agent: await append(agentId, skill, by), skill }
      }
      return attachInline(agentId, inlineSkill(write), write.save_to_library ?? true, by)
    },

    /** Removes the block of one skill, or of all. Without a block to remove it changes nothing and succeeds. */
    detach: (agentId: string, skillId: string | undefined, by: By): Promise<Agent> =>
      agents.editPrompt({ id: agentId, action: 'detach_skill', ...by }, agent => {
        const prompt = skillId === undefined ? detachAll(agent) : detach(agent, skillId)
        return prompt === agent ? undefined : prompt
      }),

    /** Returns the skills attached to an agent, in the order of its prompt. */
    async carried(agentId: string, caller: Caller): Promise<CarriedSkill[]> {
      const agent = await agents.get(agentId, caller)
      return skillsOf(agent, await libraryOf([agent], caller))
    },

    /** Returns the agents with skills, newest first, each with the state of its copies. */
    async copies(caller: Caller, page: PageOf): Promise<AgentCopies[]> {
      const found = await agents.withText(markerStart, caller, page)
      const library = await libraryOf(found, caller)
      return found.map(agent => {
        const { id: agent_id, name, version } = agent
        return { agent_id, name, version, skills: skillsOf(agent, library) }
      })
    },

    /** Returns an agent's copy next to the library's content. Errors: `not_found` for a skill that is not attached. */
    async compare(skillId: string, agentId: string, caller: Caller): Promise<SkillComparison> {
      const { content } = await skills.get(skillId, caller)
      const agent = await agents.get(agentId, caller)
      const copy = copyOf(agent, skillId)
      const state = copyState(agent, skillId, content)
      if (copy === undefined || state === undefined)
        throw new AppError('not_found', `skill ${skillId} is not attached to agent ${agentId}`)
      const { id: agent_id, name, version } = agent
      return { agent_id, name, version, state, copy, library: content, lines: lineDiff(copy, content) }
    },

    /** Returns the agents that have a skill attached, newest first. */
    async carriers(skillId: string, caller: Caller, page: PageOf): Promise<CarryingAgent[]> {
      const { content } = await skills.get(skillId, caller)
      const found = await agents.withText(skillMarker(skillId), caller, page)
      return found.map(agent => {
        const { id: agent_id, name, version } = agent
        return { agent_id, name, version, state: copyState(agent, skillId, content) ?? 'not_in_library' }
      })
    },

    /**
     * Upgrades the copies of a skill to the library's content, one change per agent. An interrupted call can be
     * repeated.
     */
    async upgrade(skillId: string, selection: SkillUpgrade, by: By): Promise<Upgraded[]> {
      const skill = await skills.get(skillId, by.caller)
      const selected = selection.agent_ids && new Set(selection.agent_ids)
      const done: Upgraded[] = []
      for (let after: string | undefined; ; ) {
        const page = await agents.withText(skillMarker(skillId), by.caller, { after, limit: upgradePage })
        for (const { id } of page) {
          if (selected && !selected.has(id)) continue
          done.push(...(await upgradeOne(id, skill, selection, by).catch(noneIfDeleted)))
        }
        if (page.length < upgradePage) return done
        after = page.at(-1)?.id
      }
    },
  }
}

type Library = ReadonlyMap<string, Skill>

/** Returns the attached skills in the order of the prompt. */
const skillsOf = (agent: PromptWithSkills, library: Library): CarriedSkill[] =>
  attachedIds(agent).map(id => {
    const name = library.get(id)?.name ?? agent.skills.find(skill => skill.id === id)?.name ?? null
    return { id, name, state: copyState(agent, id, library.get(id)?.content) ?? 'not_in_library' }
  })

/** Returns an empty list for an agent that was deleted after it was listed. */
function noneIfDeleted(error: unknown): Upgraded[] {
  if (error instanceof AppError && error.code === 'not_found') return []
  throw error
}

interface Selected {
  readonly id: string
  readonly selection: SkillUpgrade
}

/** Reports whether an upgrade replaces a copy. It replaces the copy of a pinned version only when it names the agent. */
function isSelected(state: CopyState | undefined, { skills }: PromptWithSkills, { id, selection }: Selected): boolean {
  const isPinned = skills.some(skill => skill.id === id && skill.version !== undefined)
  if (isPinned && selection.agent_ids === undefined) return false
  return state === 'outdated' || (state === 'edited' && selection.include_edited === true)
}

const isTooLong = ({ system }: PromptWithSkills): boolean => system.length > maxPromptLength

/** Returns the skill of an inline request. Interface: Skills, rule 2. */
function inlineSkill({ content, name, description = null }: SkillAttach): SkillCreate {
  if (content === undefined) throw invalid('skill_id or content is required')
  if (name !== undefined && name.trim() === '') throw invalid('name must not be blank')
  return {
    name: name ?? `Skill ${new Date().toISOString()}`,
    content: checkedContent(content),
    description,
  }
}
