import { type Static, Type } from 'typebox'
import { Agent } from './agents.ts'
import { DiffLines } from './diff-lines.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { Name, NextCursor, Nullable, pageQuery } from './schemas.ts'

/** A reusable instruction block. `content` enters agent prompts verbatim. Interface: Resources, Skill. */
export const Skill = named(
  'Skill',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Nullable(Type.String()),
    content: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
  }),
)
export type Skill = Static<typeof Skill>

export const maxSkillBytes = 262_144
export const maxSkillNameLength = 200

/** Maximum size of the front matter. */
const maxFrontMatter = 20_000

const Description = Nullable(Type.String({ maxLength: 10_000 }))
const content = Type.String({ minLength: 1, maxLength: maxSkillBytes, pattern: '\\S' })

const SkillCreate = named('SkillCreate', Type.Object({ name: Name, content, description: Type.Optional(Description) }))
export type SkillCreate = Static<typeof SkillCreate>

const SkillUpdate = named('SkillUpdate', Type.Partial(SkillCreate))
export type SkillUpdate = Static<typeof SkillUpdate>

const SkillImport = named(
  'SkillImport',
  Type.Object({
    text: Type.String({
      minLength: 1,
      maxLength: maxSkillBytes + maxFrontMatter,
      description: 'A SKILL.md file: front matter with `name` and `description`, then the instructions',
    }),
  }),
)

/** `skill_id`, or the inline form, which is ignored when `skill_id` is present. */
const SkillAttach = named(
  'SkillAttach',
  Type.Object({
    skill_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    content: Type.Optional(Type.String({ maxLength: maxSkillBytes })),
    name: Type.Optional(Type.String({ maxLength: maxSkillNameLength })),
    description: Type.Optional(Description),
    save_to_library: Type.Optional(
      Type.Boolean({ default: true, description: 'False: the skill is not added to the library' }),
    ),
  }),
)
export type SkillAttach = Static<typeof SkillAttach>

/** State of an agent's copy. `edited`: the copy was changed in the prompt. */
const CopyState = named(
  'SkillCopyState',
  Type.Union([
    Type.Literal('current'),
    Type.Literal('outdated'),
    Type.Literal('edited'),
    Type.Literal('not_in_library'),
  ]),
)
export type CopyState = Static<typeof CopyState>

const CarriedSkill = named(
  'CarriedSkill',
  Type.Object({ id: Type.String(), name: Nullable(Type.String()), state: CopyState }),
)
export type CarriedSkill = Static<typeof CarriedSkill>

const CarryingAgent = named(
  'CarryingAgent',
  Type.Object({
    agent_id: Type.String(),
    name: Type.String(),
    version: Type.Integer(),
    state: CopyState,
  }),
)
export type CarryingAgent = Static<typeof CarryingAgent>

/** An agent with skills and the state of its copies. */
const AgentCopies = named(
  'AgentSkillCopies',
  Type.Object({
    agent_id: Type.String(),
    name: Type.String(),
    version: Type.Integer(),
    skills: Type.Array(CarriedSkill, { description: 'In the order of the system prompt' }),
  }),
)
export type AgentCopies = Static<typeof AgentCopies>

/** An agent's copy of a skill next to the library's content. */
const SkillComparison = named(
  'SkillComparison',
  Type.Object({
    ...CarryingAgent.properties,
    copy: Type.String({ description: 'Content of the agent’s copy' }),
    library: Type.String({ description: 'Content of the library, which an upgrade would write' }),
    lines: DiffLines,
  }),
)
export type SkillComparison = Static<typeof SkillComparison>

const SkillUpgrade = named(
  'SkillUpgrade',
  Type.Object({
    agent_ids: Type.Optional(
      Type.Array(Type.String({ maxLength: 200 }), {
        maxItems: 1000,
        description: 'Agents to upgrade; all with the skill by default',
      }),
    ),
    include_edited: Type.Optional(Type.Boolean({ default: false, description: 'Also replaces edited copies' })),
    dry_run: Type.Optional(
      Type.Boolean({ default: false, description: 'Changes nothing; `outdated` are the agents that would change' }),
    ),
  }),
)
export type SkillUpgrade = Static<typeof SkillUpgrade>

/** Result of an upgrade for one agent. */
const Upgraded = named(
  'SkillUpgradeResult',
  Type.Object({
    ...CarryingAgent.properties,
    state: Type.Union([...CopyState.anyOf, Type.Literal('upgraded'), Type.Literal('too_long')]),
  }),
)
export type Upgraded = Static<typeof Upgraded>

const SkillPath = Type.Object({ skill_id: Type.String() })
const CopyPath = Type.Object({ skill_id: Type.String(), agent_id: Type.String() })
const AgentPath = Type.Object({ agent_id: Type.String() })
const base = { access: 'key', errorShape: 'plain' } as const

export const skillRoutes = {
  list: route({
    ...base,
    id: 'skills.list',
    method: 'GET',
    path: '/api/v1/skills',
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ data: Type.Array(Skill), next_cursor: NextCursor }) },
    summary: 'List skills',
    description: 'Lists the caller’s skills, newest first.',
  }),
  create: route({
    ...base,
    id: 'skills.create',
    unknownFields: 'reported',
    method: 'POST',
    path: '/api/v1/skills',
    body: SkillCreate,
    responses: { 201: Skill },
    summary: 'Create a skill',
    description: 'Adds a skill to the library. No agent has it until it is attached.',
  }),
  import: route({
    ...base,
    id: 'skills.import',
    method: 'POST',
    path: '/api/v1/skills/import',
    body: SkillImport,
    responses: { 201: Skill },
    summary: 'Import a skill',
    description: 'Creates a skill from the text of a `SKILL.md` file.',
  }),
  get: route({
    ...base,
    id: 'skills.get',
    method: 'GET',
    path: '/api/v1/skills/{skill_id}',
    params: SkillPath,
    responses: { 200: Skill },
    summary: 'Read a skill',
    description: 'Returns one skill with its instructions.',
  }),
  update: route({
    ...base,
    id: 'skills.update',
    unknownFields: 'reported',
    method: 'PATCH',
    path: '/api/v1/skills/{skill_id}',
    params: SkillPath,
    body: SkillUpdate,
    responses: { 200: Skill },
    summary: 'Update a skill',
    description: 'Changes a skill in the library. Agents keep their copy until it is upgraded.',
  }),
  remove: route({
    ...base,
    id: 'skills.remove',
    method: 'DELETE',
    path: '/api/v1/skills/{skill_id}',
    params: SkillPath,
    responses: { 204: null },
    summary: 'Delete a skill',
    description: 'Deletes a skill from the library. Agents keep their copy.',
  }),
  agents: route({
    ...base,
    id: 'skills.agents',
    method: 'GET',
    path: '/api/v1/skills/{skill_id}/agents',
    params: SkillPath,
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ data: Type.Array(CarryingAgent), next_cursor: NextCursor }) },
    summary: 'List the agents that carry a skill',
    description: 'Lists the agents with the state of their copy: `current`, `outdated`, `edited` or `not_in_library`.',
  }),
  copies: route({
    ...base,
    id: 'skills.copies',
    method: 'GET',
    path: '/api/v1/skills/copies',
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ data: Type.Array(AgentCopies), next_cursor: NextCursor }) },
    summary: 'List all copies of skills',
    description:
      'Lists the agents that have skills, newest first, with the state of each copy: `current`, `outdated`, `edited` or `not_in_library`.',
  }),
  compare: route({
    ...base,
    id: 'skills.compare',
    method: 'GET',
    path: '/api/v1/skills/{skill_id}/agents/{agent_id}',
    params: CopyPath,
    responses: { 200: SkillComparison },
    summary: 'Compare a copy with the library',
    description:
      'Returns an agent’s copy of a skill and what an upgrade would change in it, line by line. 404 when the skill is not attached.',
  }),
  upgrade: route({
    ...base,
    id: 'skills.upgrade',
    method: 'POST',
    path: '/api/v1/skills/{skill_id}/upgrade',
    params: SkillPath,
    body: SkillUpgrade,
    bodyOptional: true,
    responses: { 200: Type.Object({ data: Type.Array(Upgraded) }) },
    summary: 'Upgrade the copies of a skill',
    description:
      'Replaces the copies in agents by the text of the library. Edited copies stay unless `include_edited` is true.',
  }),
  carried: route({
    ...base,
    id: 'agent_skills.list',
    method: 'GET',
    path: '/api/v1/managed_agents/agents/{agent_id}/skill',
    params: AgentPath,
    responses: { 200: Type.Object({ data: Type.Array(CarriedSkill) }) },
    summary: 'List the skills of an agent',
    description: 'Lists the skills in the order of the agent’s system prompt.',
  }),
  attach: route({
    ...base,
    id: 'agent_skills.attach',
    unknownFields: 'reported',
    method: 'POST',
    path: '/api/v1/managed_agents/agents/{agent_id}/skill',
    params: AgentPath,
    body: SkillAttach,
    responses: { 200: Type.Object({ agent: Agent, skill: Type.Optional(Skill) }) },
    summary: 'Attach a skill to an agent',
    description: 'Appends the skill to the agent’s system prompt as a marked block. Attaching it twice has no effect.',
  }),
  detach: route({
    ...base,
    id: 'agent_skills.detach',
    method: 'DELETE',
    path: '/api/v1/managed_agents/agents/{agent_id}/skill',
    params: AgentPath,
    query: Type.Object({
      skill_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'All skills by default' })),
    }),
    responses: { 200: Type.Object({ agent: Agent }) },
    summary: 'Detach skills from an agent',
    description:
      'Removes the block of a skill, or of all skills, from the agent’s system prompt, which is then exactly as before.',
  }),
}
