import { Button, Group, SegmentedControl, Stack, Text, Textarea } from '@mantine/core'
import { type FormEvent, type ReactNode, useMemo, useState } from 'react'
import { SchemaControl } from './schema-control.tsx'
import { enteredValues, fieldsOf, readArguments, type SchemaInputs } from './schema-fields.ts'

interface Props {
  /** JSON schema of an object. */
  readonly schema: unknown
  /** Verb with object: `Call tool`. */
  readonly action: string
  readonly isRunning: boolean
  readonly onSubmit: (values: Readonly<Record<string, unknown>>) => void
  /** Error of the last attempt. */
  readonly children?: ReactNode
}

const none: SchemaInputs = new Map()

/** A form for the properties of a JSON schema; as an alternative the whole object is entered as JSON. */
export function SchemaForm({ schema, action, isRunning, onSubmit, children }: Props) {
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const [mode, setMode] = useState<'form' | 'json'>('form')
  const [inputs, setInputs] = useState(none)
  const [json, setJson] = useState('{}')
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(none)

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const read = mode === 'json' ? readArguments(json) : undefined
    const entered = enteredValues(fields, inputs)
    const found = read ? new Map('problem' in read ? [[wholeObject, read.problem]] : []) : entered.problems
    setProblems(found)
    if (found.size === 0) onSubmit(read && 'value' in read ? read.value : entered.values)
  }
  const switchTo = (next: string) => {
    if (next === 'json') setJson(JSON.stringify(enteredValues(fields, inputs).values, null, 2))
    setMode(next === 'json' ? 'json' : 'form')
    setProblems(none)
  }

  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <SegmentedControl
          size="xs"
          style={{ alignSelf: 'start' }}
          aria-label="How to enter the values"
          data={[
            { value: 'form', label: 'Form' },
            { value: 'json', label: 'JSON' },
          ]}
          value={mode}
          onChange={switchTo}
        />
        {mode === 'json' ? (
          <Textarea
            label="Values as a JSON object"
            value={json}
            onChange={({ currentTarget }) => setJson(currentTarget.value)}
            error={problems.get(wholeObject)}
            autosize
            minRows={6}
            maxRows={24}
            spellCheck={false}
            classNames={{ input: 'mono' }}
          />
        ) : (
          fields.map(field => (
            <SchemaControl
              key={field.name}
              field={field}
              value={inputs.get(field.name) ?? ''}
              error={problems.get(field.name)}
              onChange={value => setInputs(before => new Map(before).set(field.name, value))}
            />
          ))
        )}
        {mode === 'form' && fields.length === 0 && (
          <Text size="sm" c="dimmed">
            It takes no values.
          </Text>
        )}
        {children}
        <Group justify="flex-end">
          <Button type="submit" loading={isRunning}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Key of the problem of the JSON text. Problems of fields are not shown beside it, so a field may have this name. */
const wholeObject = 'JSON'
