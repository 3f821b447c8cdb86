import { Kbd, Modal, Table } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useMayChange } from '../data/sign-in.tsx'
import { isTyping } from '../parts/keys.ts'
import { useLetterKeys } from '../parts/letter-keys.ts'
import { usePages } from './pages.ts'

const sequenceMs = 1500

type Meaning = readonly [keys: string, meaning: string]

const reading: readonly Meaning[] = [
  ['Ctrl K', 'search and jump'],
  ['/', 'search in the list'],
  ['j k', 'next and previous row'],
  ['Enter', 'open the row beside the list'],
  ['Shift Enter', 'open the row as a page'],
  ['Esc', 'close the panel or dialog'],
  ['n p', 'next and previous model request of a session'],
  ['e', 'expand or fold the selected row of a session'],
  ['.', 'follow the end of the session'],
]

const changing: readonly Meaning[] = [
  ['i', 'interrupt the session (asks first)'],
  ['Ctrl Enter', 'send the message, or the request of the playground'],
  ['Esc', 'stop the answers of the playground'],
]

/** `g` and a letter open a page, `?` shows all keys. */
export function Keyboard() {
  const [isOpen, setOpen] = useState(false)
  const [areLettersOn] = useLetterKeys()
  const navigate = useNavigate()
  const mayChange = useMayChange()
  const pages = usePages()
  const startedAt = useRef(Number.NEGATIVE_INFINITY)

  useEffect(() => {
    if (!areLettersOn) return undefined
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event)) return
      if (event.key === '?') setOpen(true)
      const page = isAfterG(startedAt, event) && pages.find(({ letter }) => letter === event.key)
      if (!page) return
      event.preventDefault()
      event.stopImmediatePropagation()
      void navigate({ to: page.path })
    }
    window.addEventListener('keydown', onKey, { capture: true })
    return () => window.removeEventListener('keydown', onKey, { capture: true })
  }, [areLettersOn, navigate, pages])

  return (
    <Modal opened={isOpen} onClose={() => setOpen(false)} title="Keyboard" size="lg">
      <Table verticalSpacing={4}>
        <Table.Tbody>
          {[...reading, ...(mayChange ? changing : [])].map(([keys, meaning]) => (
            <Row key={meaning} keys={keys} meaning={meaning} />
          ))}
          {pages.map(({ path, letter, title }) => (
            <Row key={path} keys={`g ${letter}`} meaning={`open ${title}`} />
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  )
}

/** True for the key after `g`; notes the time of a `g`. */
function isAfterG(startedAt: { current: number }, { key, timeStamp }: KeyboardEvent): boolean {
  const isSecond = timeStamp - startedAt.current < sequenceMs
  startedAt.current = key === 'g' && !isSecond ? timeStamp : Number.NEGATIVE_INFINITY
  return isSecond
}

function Row({ keys, meaning }: { readonly keys: string; readonly meaning: string }) {
  return (
    <Table.Tr>
      <Table.Td w={140}>
        {keys.split(' ').map(key => (
          <Kbd key={key} mr={4}>
            {key}
          </Kbd>
        ))}
      </Table.Td>
      <Table.Td>{meaning}</Table.Td>
    </Table.Tr>
  )
}
