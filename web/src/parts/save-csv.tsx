import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useSubmit } from '../data/submit.ts'
import { showProblem } from './notices.ts'
import { saveFile } from './save-file.ts'

interface Props {
  /** Name of the file without its ending: `calls`. */
  readonly name: string
  /** What the file has: `calls`. */
  readonly what: string
  /** Requests the file from the service. */
  readonly load: () => Promise<Response>
}

/** Saves a list or a report as a file of the service. A file that ends early is not saved. */
export function SaveCsv({ name, what, load }: Props) {
  const { isRunning, send } = useSubmit(async () => {
    try {
      const response = await load()
      saveFile(`${name}.csv`, await response.text(), 'text/csv;charset=utf-8')
    } catch (error) {
      showProblem(`save ${what} as CSV`, error)
      throw error
    }
  })
  return (
    <Button
      variant="default"
      size="compact-xs"
      leftSection={<IconDownload size={14} aria-hidden />}
      loading={isRunning}
      onClick={() => void send()}
      aria-label={`Save CSV of ${what}`}
    >
      Save CSV
    </Button>
  )
}
