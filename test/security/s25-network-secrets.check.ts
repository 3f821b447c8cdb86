// A sandbox tries to get the secret of an intercepted host, or to take it to another place.
import { testSecretAttacks } from '../support/network/secret-attacks.ts'
import { lack } from '../support/service/lack.ts'

if (!lack('bubblewrap') && !lack('socat')) await testSecretAttacks()
