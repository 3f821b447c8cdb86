import { Alert, Text } from '@mantine/core'
import type { RuntimeTool } from '../../../../../src/contract/runtimes.ts'
import css from '../agent.module.css'
import { TextSetting, TextsSetting } from '../setting-fields.tsx'
import type { Editing } from '../use-draft.ts'
import { CustomTools } from './custom-tools.tsx'
import { PolicyControl } from './policy-control.tsx'
import { ServerTools } from './server-tools.tsx'
import { choosable, readSetup, storedOf, type ToolSetup } from './setup.ts'
import { Subagents } from './subagents.tsx'

interface Props {
  readonly editing: Editing
  readonly known: readonly RuntimeTool[]
}

/** The tools of an agent, each with what happens when the model calls it. */
export function ToolForms({ editing, known }: Props) {
  const { draft, edit, errorAt } = editing
  const setup = readSetup({ tools: draft.tools, servers: draft.config['mcp_servers'] }, known)
  const change = (fields: Partial<ToolSetup>) => {
    const { tools, servers } = storedOf({ ...setup, ...fields }, known)
    const { mcp_servers: _, ...config } = draft.config
    edit({ tools, config: servers === undefined ? config : { ...config, mcp_servers: servers } })
  }
  const problem = errorAt('tools') ?? errorAt('config.mcp_servers') ?? errorAt('config.agents')
  return (
    <>
      {problem !== undefined && <Alert color="red">{problem}</Alert>}
      <section className={css.group} aria-label="Built-in tools">
        <div className={css.changeName}>Built-in tools</div>
        <div>
          {choosable(known).map(({ id, description }) => (
            <div key={id} className={css.row}>
              <span>
                <span className="mono">{id}</span> <span className="soft">{firstSentence(description)}</span>
              </span>
              <PolicyControl
                label={`Policy of ${id}`}
                value={setup.builtin[id] ?? 'deny'}
                onChange={policy => change({ builtin: { ...setup.builtin, [id]: policy } })}
              />
            </div>
          ))}
        </div>
      </section>
      <ServerTools servers={setup.servers} onChange={servers => change({ servers })} />
      <CustomTools tools={setup.custom} onChange={custom => change({ custom })} />
      <Subagents editing={editing} />
      <section className={css.group} aria-label="Approvals">
        <div className={css.changeName}>Approvals</div>
        <TextsSetting
          editing={editing}
          at={{ key: 'approvals', name: 'approvers' }}
          label="Who may approve"
          description="Roles (admin, user), key ids, or link for holders of the signed link"
          placeholder="Everybody who may see the session"
          options={['admin', 'user', 'link']}
          max={100}
        />
        <TextSetting
          editing={editing}
          at={{ key: 'approvals', name: 'expires_in' }}
          label="Time to answer"
          description="Such as 30m, 12h or 7d; then the call is denied"
          absent="24h"
        />
      </section>
      {setup.others.length > 0 && (
        <Text size="sm" c="dimmed" mt="md">
          {setup.others.length} entries are of a type that this form does not know. They stay as they are; the JSON has
          them.
        </Text>
      )}
    </>
  )
}

const firstSentence = (text: string): string => /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text
