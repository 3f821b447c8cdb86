import { Button, Group, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Provider, ProviderTest } from '../../../../src/contract/providers.ts'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { useAddress } from '../../parts/address.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { InConfigFile } from '../../parts/in-config-file.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { CredentialForm } from './credential-form.tsx'
import { sourceWords } from './model-columns.tsx'
import { ProviderState } from './provider-state.tsx'
import { reloadModels } from './queries.ts'
import { TestResult } from './test-result.tsx'

interface Props {
  readonly provider: Provider
  readonly onClose: () => void
}

/** One provider beside the list: state, test, credential. */
export function ProviderPanel({ provider, onClose }: Props) {
  const [{ edit }, setAddress] = useAddress<'edit'>()
  const { id, locked, connected, source } = provider
  const isEditing = !locked && (edit === '1' || source === null)
  return (
    <SidePanel title={provider.name} onClose={onClose}>
      <Stack gap="md">
        {locked && source === 'file' && <InConfigFile />}
        {locked && source === 'environment' && (
          <Text size="sm" c="dimmed">
            An environment variable of the service has its key. Change the variable and restart.
          </Text>
        )}
        {!isEditing && <Actions provider={provider} onEdit={() => setAddress({ edit: '1' })} />}
        {provider.error !== null && (
          <Text size="sm" c="var(--state-failed)">
            The stored credential is not used: <SafeText text={provider.error} />
          </Text>
        )}
        <Facts
          of={[
            ['State', <ProviderState key="state" provider={provider} />],
            ['Key', provider.masked_api_key !== null && <span className="mono">{provider.masked_api_key}</span>],
            ['Address', provider.api_base ?? undefined],
            ['Protocols', provider.protocols.join(', ')],
            ['Models', connected && <span className="mono">{id}/*</span>],
            ['Set in', source !== null && sourceWords[source]],
            ['Stored', provider.updated_at !== null && <Time at={provider.updated_at} />],
          ]}
        />
        {isEditing && <CredentialForm provider={provider} onDone={() => setAddress({ edit: undefined })} />}
      </Stack>
    </SidePanel>
  )
}

function Actions({ provider, onEdit }: { readonly provider: Provider; readonly onEdit: () => void }) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const [result, setResult] = useState<ProviderTest>()
  const params = { provider_id: provider.id }
  const test = useSubmit(async () => {
    setResult(undefined)
    setResult(await client.providers.test({ params }))
  })
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Button variant="default" onClick={() => void test.send()} loading={test.isRunning}>
          Test provider
        </Button>
        {!provider.locked && (
          <>
            <Button variant="default" onClick={onEdit}>
              Replace credential
            </Button>
            <Button variant="default" c="var(--state-failed)" onClick={() => setAsking(true)}>
              Disconnect provider
            </Button>
          </>
        )}
        <Link to="/console/audit" search={{ object_id: provider.id }}>
          Changes
        </Link>
      </Group>
      {result && <TestResult result={result} />}
      <ProblemLine error={test.error} />
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        question={`Disconnect ${provider.name}?`}
        consequence="The stored credential is deleted. Its models, and those of your own that rely on it, serve no more calls; calls in flight end as they began."
        action="Disconnect provider"
        run={async () => {
          await client.providers.remove({ params })
          await reloadModels(queries)
        }}
      />
    </Stack>
  )
}
