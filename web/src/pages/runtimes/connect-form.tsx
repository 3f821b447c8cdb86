import { Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { RuntimeHarness } from '../../../../src/contract/runtimes.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { agentRuntimesQuery } from '../../data/lists.ts'
import { present } from '../../data/present.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { reloadRuntimes } from './queries.ts'

interface Props {
  readonly runtime: RuntimeHarness
  readonly onDone: () => void
}

/** Stores the key of a built-in runtime. */
export function ConnectForm({ runtime, onDone }: Props) {
  const queries = useQueryClient()
  const { data } = useQuery(agentRuntimesQuery)
  const builtIn = data?.find(({ id }) => id === runtime.id)
  const [key, setKey] = useState('')
  const [address, setAddress] = useState('')
  const submit = useSubmit(async () => {
    const body = present({ api_key: key.trim(), api_base: address.trim() === '' ? undefined : address.trim() })
    await client.agentRuntimes.connect({ params: { runtime_id: runtime.id }, body })
    setKey('')
    await reloadRuntimes(queries)
    onDone()
  })
  const error = formErrorOf(submit.error, ['api_key', 'api_base'])
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        <Text size="sm">
          The key is stored encrypted and sent to the address below only. The next run uses it; test it afterwards.
        </Text>
        <PasswordInput
          label={`API key of ${builtIn?.credential_provider_name ?? runtime.display_name}`}
          autoComplete="off"
          value={key}
          onChange={({ currentTarget }) => setKey(currentTarget.value)}
          error={error.at('api_key')}
          required
          data-autofocus
        />
        <TextInput
          label="Address"
          description="Empty: the stored one, else that of the vendor"
          placeholder={runtime.api_base === '' ? builtIn?.default_api_base : runtime.api_base}
          value={address}
          onChange={({ currentTarget }) => setAddress(currentTarget.value)}
          error={error.at('api_base')}
        />
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onDone}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isRunning} disabled={key.trim() === ''}>
            Connect runtime
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
