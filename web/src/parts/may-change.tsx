import { createTheme, MantineThemeProvider, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMayChange } from '../data/sign-in.tsx'
import { Page } from './page.tsx'
import { NoPermission } from './page-state.tsx'
import { SidePanel } from './side-panel.tsx'

interface Props {
  readonly children: ReactNode
}

/** Shows controls that change something. Viewers do not get them. */
export function MayChange({ children }: Props) {
  return useMayChange() ? children : null
}

const readOnly = {
  defaultProps: { readOnly: true },
  // Without the mark of a list of choices.
  styles: { input: { background: 'var(--surface-sunken)' }, section: { display: 'none' } },
}
const disabled = { defaultProps: { disabled: true } }
const readOnlyFields = createTheme({
  components: {
    Autocomplete: readOnly,
    NumberInput: readOnly,
    Select: readOnly,
    TagsInput: readOnly,
    Textarea: readOnly,
    TextInput: readOnly,
    // Browsers know no read-only checkboxes.
    Checkbox: disabled,
  },
})

/** The fields of a form that also shows what is stored. Viewers can read and copy their texts only. */
export function Fields({ children }: Props) {
  if (useMayChange()) return children
  return <MantineThemeProvider theme={readOnlyFields}>{children}</MantineThemeProvider>
}

interface FormProps extends Props {
  readonly title: string
  /** What viewers cannot do: `Viewers cannot start sessions`. */
  readonly right: string
}

interface ClosableProps extends FormProps {
  readonly onClose: () => void
}

/** In place of what only changes something: the reason why viewers do not get it. */
export function ViewersCannot({ right }: Pick<FormProps, 'right'>) {
  return <NoPermission title="Your key may only read" right={right} />
}

/** A page that only changes something. Viewers get the reason in its place, and nothing is loaded. */
export function ChangePage({ title, right, children }: FormProps) {
  if (useMayChange()) return children
  return (
    <Page title={title}>
      <ViewersCannot right={right} />
    </Page>
  )
}

/** A panel with a form that an address can open. Viewers get the reason in its place, and nothing is loaded. */
export function ChangePanel({ title, right, onClose, children }: ClosableProps) {
  if (useMayChange()) return children
  return (
    <SidePanel title={title} onClose={onClose}>
      <ViewersCannot right={right} />
    </SidePanel>
  )
}

/** A dialog with a form that an address can open. Viewers get the reason in its place, and nothing is loaded. */
export function ChangeDialog({ title, right, onClose, children }: ClosableProps) {
  if (useMayChange()) return children
  return (
    <Modal opened onClose={onClose} title={title}>
      <ViewersCannot right={right} />
    </Modal>
  )
}
