import { Select, Text, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { capabilitiesQuery } from '../../data/agents.ts'
import { isRecord, textsOf } from '../../data/json.ts'
import { JsonField } from '../../parts/json-field.tsx'
import css from './agent.module.css'
import { NetworkFields } from './network-fields.tsx'
import { ChoiceSetting, NumberSetting, TextSetting } from './setting-fields.tsx'
import { otherSettings, valueAt, withOtherSettings, writeAt } from './settings.ts'
import type { Editing } from './use-draft.ts'

const busyModes = [
  { value: 'enqueue', label: 'Enqueue: it waits for the running one' },
  { value: 'reject', label: 'Reject: it is refused' },
  { value: 'interrupt', label: 'Interrupt: it stops the running one' },
  { value: 'steer', label: 'Steer: the running one reads it at its next step' },
]
const week = 604_800

/** Where sessions run, their limits, their network and their sandbox. */
export function RuntimeTab({ editing }: { readonly editing: Editing }) {
  const { draft, edit, errorAt } = editing
  const { data } = useQuery(capabilitiesQuery)
  const runtimes = data?.runtimes ?? []
  const isListed = runtimes.some(({ id }) => id === draft.harness)
  const others = otherSettings(draft.config)
  return (
    <>
      <div className={css.group}>
        <Select
          label="Runtime"
          description="What runs the agent: the built-in loop, or a connected harness"
          data={[
            ...runtimes.map(({ id, name, connected }) => ({
              value: id,
              label: connected ? name : `${name} (not connected)`,
            })),
            ...(isListed ? [] : [{ value: draft.harness, label: draft.harness }]),
          ]}
          value={draft.harness}
          onChange={value => value !== null && edit({ harness: value })}
          error={errorAt('runtime') ?? errorAt('harness') ?? errorAt('config.runtime')}
        />
        <Text size="sm" c="dimmed">
          A repository belongs to a session: choose it when you start one, in a schedule or in a webhook.
        </Text>
      </div>
      <div className={css.group}>
        <NumberSetting
          editing={editing}
          at={{ key: 'max_turns' }}
          label="Model calls of a run"
          min={1}
          max={10_000}
          absent="100"
        />
        <NumberSetting
          editing={editing}
          at={{ key: 'time_limit_seconds' }}
          label="Longest run"
          description="Time spent waiting for a budget does not count"
          min={1}
          max={week}
          absent="No limit"
          unit="s"
        />
        <NumberSetting
          editing={editing}
          at={{ key: 'session_max_budget' }}
          label="Budget of a session"
          description="A session that has spent it waits until an administrator raises it"
          min={0.01}
          max={1e9}
          digits={4}
          absent="No limit"
          unit="USD"
        />
        <ChoiceSetting
          editing={editing}
          at={{ key: 'busy_mode' }}
          label="A prompt for a busy session"
          description="Webhooks and schedules always enqueue"
          options={busyModes}
          absent="Enqueue"
        />
      </div>
      <NetworkFields editing={editing} />
      <div className={css.group}>
        <TextSetting
          editing={editing}
          at={{ key: 'sandbox', name: 'image' }}
          label="Image of the sandbox"
          description="One of the images in the configuration file; needs Docker or Kubernetes"
          absent="The default of the service"
        />
        <Setup editing={editing} />
      </div>
      <div className={css.group}>
        <JsonField
          label="Other settings"
          description="Everything in config without a field on this page. The webhook has its own page"
          value={Object.keys(others).length === 0 ? undefined : others}
          onChange={value => edit({ config: withOtherSettings(draft.config, isRecord(value) ? value : {}) })}
          problemOf={value => (value === undefined || isRecord(value) ? undefined : 'Settings are a JSON object')}
          error={errorAt('config.webhook')}
          placeholder="{}"
        />
      </div>
    </>
  )
}

const setupAt = { key: 'sandbox', name: 'setup' }

function Setup({ editing }: { readonly editing: Editing }) {
  const commands = textsOf(valueAt(editing, setupAt))
  const write = (next: readonly string[]) => writeAt(editing, setupAt, next.length === 0 ? undefined : next)
  return (
    <Textarea
      label="Setup"
      description="Shell commands that prepare the sandbox before the first run, one on each line; the result is cached"
      placeholder="npm ci"
      value={commands.join('\n')}
      onChange={({ currentTarget: { value } }) => write(value === '' ? [] : value.split('\n'))}
      onBlur={() => write(commands.filter(command => command.trim() !== ''))}
      error={editing.errorAt('config.sandbox.setup')}
      autosize
      minRows={2}
      maxRows={12}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12.5 } }}
    />
  )
}
