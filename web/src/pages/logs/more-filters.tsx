import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useAddress } from '../../parts/address.ts'

interface Props {
  readonly name: 'status' | 'min_cost_usd'
  readonly label: string
  readonly width: number
  readonly isValid: (text: string) => boolean
  readonly hint: string
}

/** A filter whose value a person types. A value that the service would reject is marked and not sent. */
function TypedFilter({ name, label, width, isValid, hint }: Props) {
  const [address, setAddress] = useAddress<Props['name']>()
  const value = address[name] ?? ''
  const [text, setText] = useState(value)
  const send = useDebouncedCallback((next: string) => setAddress({ [name]: next === '' ? undefined : next }), 400)
  useEffect(() => setText(value), [value])
  const isWrong = text !== '' && !isValid(text)
  return (
    <TextInput
      size="xs"
      w={width}
      aria-label={label}
      placeholder={label}
      value={text}
      error={isWrong && hint}
      onChange={({ currentTarget: { value: next } }) => {
        setText(next)
        if (next === '' || isValid(next)) send(next)
      }}
    />
  )
}

/** HTTP status or a class of them. */
export const StatusFilter = () => (
  <TypedFilter
    name="status"
    label="Status, such as 5xx"
    width={140}
    isValid={text => /^[1-5](\d\d|xx)$/.test(text)}
    hint="429, or 5xx"
  />
)

/** The least cost of a call. */
export const CostFilter = () => (
  <TypedFilter
    name="min_cost_usd"
    label="Minimum cost in $"
    width={140}
    isValid={text => /^\d+(\.\d+)?$/.test(text)}
    hint="an amount, such as 0.01"
  />
)
