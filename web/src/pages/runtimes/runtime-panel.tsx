import { Button, Stack, Text, Title } from '@mantine/core'
import { IconCheck, IconMinus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { RuntimeHarness } from '../../../../src/contract/runtimes.ts'
import { useAddress } from '../../parts/address.ts'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { InConfigFile } from '../../parts/in-config-file.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { ConnectForm } from './connect-form.tsx'
import { EditHarness } from './harness-form.tsx'
import { runtimeModelsQuery } from './queries.ts'
import { RuntimeActions } from './runtime-actions.tsx'
import css from './runtime-panel.module.css'
import { capabilityWords, RuntimeState } from './runtime-words.tsx'

interface Props {
  readonly runtime: RuntimeHarness
  readonly onClose: () => void
}

/** One runtime beside the list. */
export function RuntimePanel({ runtime, onClose }: Props) {
  const [{ edit }, setAddress] = useAddress<'edit'>()
  const stopEditing = () => setAddress({ edit: undefined })
  const { display_name: name, is_default: isBuiltIn, locked } = runtime
  if (edit === '1' && (isBuiltIn ? runtime.id !== 'builtin' : !locked)) {
    return (
      <SidePanel title={isBuiltIn ? `Connect ${name}` : `Edit ${name}`} onClose={stopEditing}>
        {isBuiltIn ? (
          <ConnectForm runtime={runtime} onDone={stopEditing} />
        ) : (
          <EditHarness harness={runtime} onDone={stopEditing} />
        )}
      </SidePanel>
    )
  }
  return (
    <SidePanel title={name} onClose={onClose}>
      <Stack gap="md">
        <RuntimeActions runtime={runtime} onEdit={() => setAddress({ edit: '1' })} onRemoved={onClose} />
        {locked && !isBuiltIn && <InConfigFile />}
        <Facts
          of={[
            ['State', <RuntimeState key="state" runtime={runtime} />],
            ['Last error', runtime.last_error !== null && <SafeText text={runtime.last_error} />],
            ['Last test', <Time key="tested" at={runtime.last_checked_at} />],
            ['Id in agents', <Id key="id" id={runtime.id} what="runtime id" />],
            ['Protocol', !isBuiltIn && runtime.api_spec],
            ['Address', runtime.api_base !== '' && <SafeText text={runtime.api_base} />],
            ['Key', runtime.masked_api_key !== null && <span className="mono">{runtime.masked_api_key}</span>],
          ]}
        />
        <Capabilities flags={runtime.capabilities} />
        <Tools tools={runtime.tools} />
        {runtime.connected && <Models id={runtime.id} />}
      </Stack>
    </SidePanel>
  )
}

function Capabilities({ flags }: { readonly flags: RuntimeHarness['capabilities'] }) {
  return (
    <section>
      <Title order={3} mb={4}>
        Capabilities
      </Title>
      <ul className={css.list}>
        {Object.entries(flags).map(([flag, isOn]) => (
          <li key={flag} className={css.flag} data-off={!isOn || undefined}>
            {isOn ? <IconCheck size={14} aria-label="yes:" /> : <IconMinus size={14} aria-label="no:" />}
            {capabilityWords(flag)}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Tools({ tools }: { readonly tools: RuntimeHarness['tools'] }) {
  if (tools.length === 0) return null
  return (
    <section>
      <Title order={3} mb={4}>
        Tools
      </Title>
      <Facts
        of={tools.map(
          ({ id, description, enabled_by_default: isOn }) =>
            [id, <SafeText key={id} text={isOn ? description : `${description} (off by default)`} />] as const,
        )}
      />
    </section>
  )
}

/** Models that the runtime offers, loaded on request, since that calls the runtime. */
function Models({ id }: { readonly id: string }) {
  const [isAsked, setAsked] = useState(false)
  const { data, error, isFetching } = useQuery({ ...runtimeModelsQuery(id), enabled: isAsked })
  return (
    <section>
      <Title order={3} mb={4}>
        Models
      </Title>
      {data ? (
        <Text size="sm">
          {data.length === 0 ? (
            'The runtime does not report its models.'
          ) : (
            <SafeText text={data.map(each => each.id).join(', ')} />
          )}
        </Text>
      ) : (
        <Button variant="default" loading={isFetching} onClick={() => setAsked(true)}>
          Load models of the runtime
        </Button>
      )}
      {error && (
        <Text size="sm" c="var(--state-failed)">
          Cannot load its models: <SafeText text={error.message} />
        </Text>
      )}
    </section>
  )
}
