import { Button, Group, PasswordInput, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Provider, ProviderTest } from '../../../../src/contract/providers.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { credentialOf, fieldsOf, isComplete, type ProviderField, type ProviderValues } from './provider-fields.ts'
import { reloadModels } from './queries.ts'
import { TestResult } from './test-result.tsx'

interface Props {
  readonly provider: Provider
  readonly onDone: () => void
}

/** Tests a credential and stores it. A stored one is replaced as a whole; a rejected one is stored only on request. */
export function CredentialForm({ provider, onDone }: Props) {
  const queries = useQueryClient()
  const fields = fieldsOf(provider)
  const [values, setValues] = useState<ProviderValues>({})
  const [result, setResult] = useState<ProviderTest>()
  const request = { params: { provider_id: provider.id }, body: credentialOf(values) }

  const test = async (): Promise<ProviderTest> => {
    setResult(undefined)
    const found = await client.providers.test(request)
    setResult(found)
    return found
  }
  const store = async (): Promise<void> => {
    await client.providers.set(request)
    setValues({})
    await reloadModels(queries)
    onDone()
  }
  const testing = useSubmit(test)
  const connecting = useSubmit(async () => {
    if ((await test()).ok) await store()
  })
  const storing = useSubmit(store)
  const failure = connecting.error ?? testing.error ?? storing.error
  const error = formErrorOf(
    failure,
    fields.map(({ name }) => name),
  )
  const isReady = isComplete(fields, values)
  return (
    <form onSubmit={event => void connecting.send(event)}>
      <Stack gap="md">
        {provider.source !== null && (
          <Text size="sm">The new credential replaces the stored one as a whole; give every field again.</Text>
        )}
        {fields.map(field => (
          <CredentialField
            key={field.name}
            field={field}
            value={values[field.name] ?? ''}
            onChange={value => {
              setValues({ ...values, [field.name]: value })
              setResult(undefined)
            }}
            error={error.at(field.name)}
          />
        ))}
        <Text size="sm" c="dimmed">
          The test asks the provider for a list or one token, and costs next to nothing. The credential is stored
          encrypted.
        </Text>
        {result && <TestResult result={result} />}
        <ProblemLine error={error.rest} />
        <Group justify="flex-end" gap="sm">
          {provider.source !== null && (
            <Button variant="default" onClick={onDone}>
              Cancel
            </Button>
          )}
          <Button variant="default" disabled={!isReady} loading={testing.isRunning} onClick={() => void testing.send()}>
            Test only
          </Button>
          {result?.ok === false && (
            <Button variant="default" loading={storing.isRunning} onClick={() => void storing.send()}>
              Store anyway
            </Button>
          )}
          <Button type="submit" disabled={!isReady} loading={connecting.isRunning}>
            Test and store
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

interface FieldProps {
  readonly field: ProviderField
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | undefined
}

function CredentialField({
  field: { label, help, placeholder, kind, isRequired = false },
  value,
  onChange,
  error,
}: FieldProps) {
  const props = {
    label,
    description: help,
    placeholder,
    required: isRequired,
    autoComplete: 'off',
    value,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
    error,
  }
  if (kind === 'secret') return <PasswordInput {...props} />
  if (kind === 'json') return <Textarea {...props} autosize minRows={4} maxRows={12} classNames={{ input: 'mono' }} />
  return <TextInput {...props} />
}
