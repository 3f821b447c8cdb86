import { SegmentedControl, Text } from '@mantine/core'
import { networkPresets } from '../../../../src/contract/network-presets.ts'
import { recordOf } from '../../data/json.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import css from './agent.module.css'
import { FlagSetting, TextsSetting } from './setting-fields.tsx'
import { valueAt, writeAt } from './settings.ts'
import type { Editing } from './use-draft.ts'

const types = [
  { value: 'none', label: 'None' },
  { value: 'limited', label: 'Some hosts' },
  { value: 'unrestricted', label: 'Every public address' },
]

const explanations: Readonly<Record<string, string>> = {
  none: 'Commands of the agent reach no network.',
  limited: 'Commands of the agent reach only the hosts below.',
  unrestricted: 'Commands reach every public address, if the configuration of the service allows it.',
}

/** Which addresses commands of the agent reach. */
export function NetworkFields({ editing }: { readonly editing: Editing }) {
  const network = recordOf(editing.draft.config['network'])
  const type = typeof network['type'] === 'string' ? network['type'] : 'none'
  const choose = (next: string) =>
    editing.set('network', next === 'none' && Object.keys(network).length <= 1 ? undefined : { ...network, type: next })
  return (
    <section className={css.group} aria-label="Network of the sandbox">
      <div className={css.changeName}>Network of the sandbox</div>
      <MayChange>
        <SegmentedControl aria-label="Network" data={types} value={type} onChange={choose} />
      </MayChange>
      <Text size="sm" c="dimmed">
        {explanations[type]}
      </Text>
      {type === 'limited' && <Limited editing={editing} />}
      {type !== 'none' && (
        <JsonField
          label="Secrets"
          description="Values of the vault that the proxy adds to requests; the sandbox never has them"
          value={network['secrets']}
          onChange={value => writeAt(editing, { key: 'network', name: 'secrets' }, value)}
          problemOf={value => (value === undefined || Array.isArray(value) ? undefined : 'Secrets are a JSON list')}
          error={editing.errorAt('config.network.secrets')}
          placeholder='[{"vault_key": "GITHUB_TOKEN", "host": "api.github.com", "header": "authorization", "auth_type": "bearer_token"}]'
        />
      )}
    </section>
  )
}

function Limited({ editing }: { readonly editing: Editing }) {
  const at = { key: 'network', name: 'allowed_hosts' }
  const hosts = valueAt(editing, at)
  const isDetailed = Array.isArray(hosts) && hosts.some(host => typeof host !== 'string')
  return (
    <>
      {isDetailed ? (
        <JsonField
          label="Hosts"
          description="Some have ports or methods of their own"
          value={hosts}
          onChange={value => writeAt(editing, at, value)}
          error={editing.errorAt('config.network.allowed_hosts')}
        />
      ) : (
        <TextsSetting
          editing={editing}
          at={at}
          label="Hosts"
          description="Names such as api.example.com, or *.example.com for all below it"
          placeholder="api.example.com"
          max={500}
        />
      )}
      <TextsSetting
        editing={editing}
        at={{ key: 'network', name: 'presets' }}
        label="Presets"
        description="Hosts of package registries and of GitHub"
        options={networkPresets}
        max={20}
      />
      <FlagSetting
        editing={editing}
        at={{ key: 'network', name: 'allow_package_managers' }}
        label="All package registries"
      />
      <FlagSetting
        editing={editing}
        at={{ key: 'network', name: 'allow_mcp_servers' }}
        label="Hosts of the agent’s MCP servers"
      />
    </>
  )
}
