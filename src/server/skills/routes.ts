import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../contract/agents.ts'
import { skillRoutes } from '../../contract/skills.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { pageOf } from '../http/page.ts'
import type { Attachments } from './attachments.ts'
import type { Skills } from './skills.ts'

interface Deps {
  readonly skills: Skills
  readonly attachments: Attachments
  /** Reports whether a skill of the caller has other files than SKILL.md and the runtime of the agent does not get them. */
  readonly lacksFiles: (id: string, agent: Agent, caller: Caller) => Promise<boolean>
}

/** Routes of the skills library and of the skills attached to agents. */
export function serveSkills(app: FastifyInstance, { skills, attachments, lacksFiles }: Deps): void {
  bind(app, skillRoutes.list, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => skills.list(caller, page),
      ({ id }) => id,
    )
    return { data: items, next_cursor }
  })
  bind(app, skillRoutes.create, ({ body }, caller, { actor }) => skills.create(body, { caller, actor }))
  bind(app, skillRoutes.import, ({ body }, caller, { actor }) => skills.import(body.text, { caller, actor }))
  bind(app, skillRoutes.get, ({ params }, caller) => skills.get(params.skill_id, caller))
  bind(app, skillRoutes.update, ({ params, body }, caller, { actor }) =>
    skills.update(params.skill_id, body, { caller, actor }),
  )
  bind(app, skillRoutes.remove, ({ params }, caller, { actor }) => skills.remove(params.skill_id, { caller, actor }))
  bind(app, skillRoutes.agents, async ({ params, query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => attachments.carriers(params.skill_id, caller, page),
      ({ agent_id }) => agent_id,
    )
    return { data: items, next_cursor }
  })
  bind(app, skillRoutes.copies, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => attachments.copies(caller, page),
      ({ agent_id }) => agent_id,
    )
    return { data: items, next_cursor }
  })
  bind(app, skillRoutes.compare, ({ params: { skill_id, agent_id } }, caller) =>
    attachments.compare(skill_id, agent_id, caller),
  )
  bind(app, skillRoutes.upgrade, async ({ params, body }, caller, { actor }) => ({
    data: await attachments.upgrade(params.skill_id, body ?? {}, { caller, actor }),
  }))
  bind(app, skillRoutes.carried, async ({ params }, caller) => ({
    data: await attachments.carried(params.agent_id, caller),
  }))
  bind(app, skillRoutes.attach, async ({ params, body }, caller, { actor, ignore }) => {
    const attached = await attachments.attach(params.agent_id, body, { caller, actor })
    if (body.skill_id !== undefined && (await lacksFiles(body.skill_id, attached.agent, caller)))
      ignore(['skill.files'])
    return attached
  })
  bind(app, skillRoutes.detach, async ({ params, query }, caller, { actor }) => ({
    agent: await attachments.detach(params.agent_id, query.skill_id, { caller, actor }),
  }))
}
