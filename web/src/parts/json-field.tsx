import { Textarea } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { parseJson } from '../data/json.ts'

interface Props {
  readonly label: string
  readonly description?: ReactNode
  readonly value: unknown
  /** Called with the value of each text that is JSON; undefined for an empty field. */
  readonly onChange: (value: unknown) => void
  /** Returns why a value cannot be used, before it is sent. */
  readonly problemOf?: (value: unknown) => string | undefined
  readonly error?: string | undefined
  readonly placeholder?: string
  readonly minRows?: number
}

/** A value as JSON. The text stays as typed while it is no JSON. */
export function JsonField(props: Props) {
  const { label, description, value, onChange, problemOf, error, placeholder, minRows = 3 } = props
  const shown = textOf(value)
  const [text, setText] = useState(shown)
  const [problem, setProblem] = useState<string>()
  // Changes from elsewhere replace the text; those of this field already are the text.
  useEffect(() => {
    setText(before => (isSame(before, shown) ? before : shown))
    setProblem(undefined)
  }, [shown])
  const change = (next: string) => {
    setText(next)
    const parsed = parseJson(next)
    const wrong = parsed.problem ?? problemOf?.(parsed.value)
    setProblem(wrong)
    if (wrong === undefined) onChange(parsed.value)
  }
  return (
    <Textarea
      label={label}
      description={description}
      value={text}
      onChange={({ currentTarget }) => change(currentTarget.value)}
      error={problem ?? error}
      placeholder={placeholder}
      autosize
      minRows={minRows}
      maxRows={24}
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12.5 } }}
    />
  )
}

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2))

const isSame = (one: string, other: string): boolean => {
  const [first, second] = [parseJson(one), parseJson(other)]
  return first.problem === undefined && JSON.stringify(first.value) === JSON.stringify(second.value)
}
