import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Empty } from '../parts/page-state.tsx'

/** The address belongs to no page. */
export function NotFound() {
  return (
    <Empty
      title="There is no page at this address"
      link={
        <Button component={Link} to="/">
          Open the overview
        </Button>
      }
    >
      The link may be incomplete or from another version.
    </Empty>
  )
}
