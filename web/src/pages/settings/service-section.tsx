import { Button, Group, Switch, Text } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { ServiceSettings, Setting } from '../../../../src/contract/settings.ts'
import { useOverview } from '../../data/live.ts'
import { serviceQuery } from '../../data/service.ts'
import { useAddress } from '../../parts/address.ts'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { SearchFilter } from '../../parts/filters.tsx'
import { plural } from '../../parts/format.ts'
import { Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { Section } from '../../parts/section.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { matching, sourceWords, valueWords } from './setting-words.ts'
import css from './settings.module.css'

/** State of the service and the configuration in force, with the source of each setting. */
export function ServiceSection() {
  const { data, error, refetch } = useQuery(serviceQuery)
  if (!data) {
    return (
      <Section title="Service" isBoxed>
        {error ? <ProblemBlock error={error} what="load the settings" retry={() => void refetch()} /> : <Loading />}
      </Section>
    )
  }
  return (
    <>
      <Section title="Service" isBoxed actions={<CopyDiagnostics service={data} />}>
        <Service service={data} />
      </Section>
      <Configuration settings={data.settings} />
    </>
  )
}

/** Copies what a person needs to report a problem. The service puts no secret into its settings. */
function CopyDiagnostics({ service }: { readonly service: ServiceSettings }) {
  const readiness = useOverview().data?.readiness
  const { copy, copied } = useClipboard({ timeout: 1500 })
  return (
    <Button
      variant="default"
      leftSection={copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      onClick={() => copy(JSON.stringify({ readiness, ...service, browser: navigator.userAgent }, null, 2))}
    >
      {copied ? 'Copied' : 'Copy diagnostics'}
    </Button>
  )
}

function Service({ service }: { readonly service: ServiceSettings }) {
  const readiness = useOverview().data?.readiness
  const { database, encryption, replicas, warnings } = service
  const others = encryption.key_ids.filter(id => id !== encryption.current_key_id)
  return (
    <>
      <Facts
        of={[
          [
            'State',
            readiness &&
              (readiness.status === 'ok' ? (
                <StatePill state="done" word="ready" />
              ) : (
                <StatePill state="failed" word="not ready" detail={readiness.reasons.join('; ')} />
              )),
          ],
          ['Version', `Switchyard ${service.version} on Node.js ${service.node_version}`],
          ['Started', <Time key="started" at={service.started_at} />],
          ['Configuration', service.config_file ?? 'no file'],
          ['Database', `${database.mode} PostgreSQL ${database.version}`],
          [
            'Last migration',
            database.last_migration !== null && <span className="mono">{database.last_migration}</span>,
          ],
          ['Encryption key', <Keys key="keys" current={encryption.current_key_id} others={others} />],
          ['Sandbox', service.sandbox_driver],
          ['Processes', <Replicas key="replicas" replicas={replicas} own={service.replica_id} />],
        ]}
      />
      {warnings.length > 0 && (
        <div>
          <Text size="sm" fw={600}>
            {plural(warnings.length, 'warning')} about the configuration
          </Text>
          <ul>
            {warnings.map(warning => (
              <li key={warning}>
                <SafeText text={warning} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

const Keys = ({ current, others }: { readonly current: string; readonly others: readonly string[] }) => (
  <>
    <span className="mono">{current}</span> <span className="soft">encrypts</span>
    {others.length > 0 && (
      <>
        , <span className="mono">{others.join(', ')}</span> <span className="soft">only decrypt</span>
      </>
    )}
  </>
)

function Replicas({ replicas, own }: { readonly replicas: ServiceSettings['replicas']; readonly own: string }) {
  return (
    <>
      {plural(replicas.length, 'replica')}
      {replicas.map(({ id, seen_at }) => (
        <div key={id} className="soft">
          <span className="mono">{id}</span>{' '}
          {id === own ? (
            '(this one)'
          ) : (
            <>
              seen <Time at={seen_at} />
            </>
          )}
        </div>
      ))}
    </>
  )
}

function Configuration({ settings }: { readonly settings: readonly Setting[] }) {
  const [{ q, changed }, setAddress] = useAddress<'q' | 'changed'>()
  const shown = matching(settings, { q, isChanged: changed === '1' })
  return (
    <Section
      title="Configuration"
      isBoxed
      actions={
        <Group gap="md">
          <Switch
            size="xs"
            label="Without defaults"
            checked={changed === '1'}
            onChange={({ currentTarget }) => setAddress({ changed: currentTarget.checked ? '1' : undefined })}
          />
          <SearchFilter label="Name or value" value={q} onChange={value => setAddress({ q: value })} />
        </Group>
      }
    >
      {shown.length === 0 ? (
        <NoMatch what="settings" onClear={() => setAddress({ q: undefined, changed: undefined })} />
      ) : (
        <table className={css.table}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Value</th>
              <th scope="col">Source</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(setting => (
              <tr key={setting.name}>
                <td className="mono">{setting.name}</td>
                <td>
                  <span className={setting.is_set ? 'mono' : 'soft'}>
                    <SafeText text={valueWords(setting)} />
                  </span>
                </td>
                <td className="soft">{sourceWords[setting.source]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  )
}
