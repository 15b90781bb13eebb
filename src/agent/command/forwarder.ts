import { LONGEST_LINE, MOST_LINES, MOST_OPEN } from './model-route.js';

/**
 * Runs inside the container and needs only Python's standard library (3.5 or later). It serves HTTP on 127.0.0.1 as the
 * program's model endpoint, and writes every request to stdout as a line of JSON. The answer is a file that bestk puts into the
 * container; its first line is the length of the rest, so that a partly written file is not read. This needs no network, and
 * only the engine features of any other command. The program's output goes to a file. The program is killed at its time limit,
 * or when a file named `stop` appears; the last line reports how it ended. Requests that bestk would not read are refused here,
 * as the program would wait for their answers for ever.
 */
export const FORWARDER = String.raw`
import http.server, json, os, signal, socketserver, subprocess, sys, threading, time

folder, log, limit, command = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
lock, count, waiting = threading.Lock(), [0], [0]

def encoded(value):
    return json.dumps(value, ensure_ascii=False).encode('utf-8', 'replace')

def say(line):
    with lock:
        sys.stdout.buffer.write(line + b'\n')
        sys.stdout.buffer.flush()

def refusal(status, code, message):
    error = {'message': message, 'type': code, 'code': code, 'param': None}
    return {'status': status, 'type': 'application/json', 'text': json.dumps({'error': error})}

def number_of_next():
    with lock:
        # Half as many as bestk takes, which still counts those whose answers are just being written.
        if waiting[0] >= ${MOST_OPEN / 2} or count[0] >= ${MOST_LINES - 1}:
            return None
        waiting[0] += 1
        count[0] += 1
        return count[0]

def answer_to(request):
    rest = encoded(request)[1:]
    if len(rest) > ${LONGEST_LINE - 100}:
        return refusal(413, 'request_too_large', 'the request has more than 8 MiB as JSON text')
    number = number_of_next()
    if number is None:
        return refusal(429, 'rate_limit_exceeded', 'too many requests')
    try:
        say(b'{"id":%d,' % number + rest)
        return answer_of(number)
    finally:
        with lock:
            waiting[0] -= 1

def answer_of(number):
    path, pause = os.path.join(folder, str(number)), 0.01
    while True:
        try:
            with open(path, 'rb') as file:
                size, body = file.read().split(b'\n', 1)
            if len(body) == int(size):
                return json.loads(body.decode())
        except (OSError, ValueError):
            pass
        time.sleep(pause)
        pause = min(0.1, pause * 1.2)

class Route(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *words):
        pass

    def body(self):
        if 'chunked' not in (self.headers.get('transfer-encoding') or '').lower():
            return self.rfile.read(int(self.headers.get('content-length') or 0))
        pieces = []
        while True:
            size = int(self.rfile.readline().split(b';')[0], 16)
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
            if size == 0:
                return b''.join(pieces)

    def answer(self):
        body = self.body().decode('utf-8', 'replace')
        answer = answer_to({'method': self.command, 'path': self.path, 'body': body})
        text = answer['text'].encode()
        self.send_response(answer['status'])
        self.send_header('content-type', answer['type'])
        self.send_header('content-length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass

server = Server(('127.0.0.1', 0), Route)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = 'http://127.0.0.1:%d/v1' % server.server_address[1]
environment = dict(os.environ, OPENAI_BASE_URL=url, OPENAI_API_BASE=url, OPENAI_API_KEY='bestk')
with open(log, 'wb') as output:
    program = subprocess.Popen(['/bin/sh', '-c', command], env=environment, stdin=subprocess.DEVNULL, stdout=output,
                               stderr=subprocess.STDOUT, start_new_session=True)

def kill(*_):
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except OSError:
        pass

signal.signal(signal.SIGTERM, lambda *_: (kill(), sys.exit(143)))
began, why = time.time(), 'own'
while program.poll() is None:
    if time.time() - began > limit:
        why = 'late'
    elif os.path.exists(os.path.join(folder, 'stop')):
        why = 'stopped'
    if why != 'own':
        kill()
        program.wait()
        break
    time.sleep(0.05)
kill()
with open(log, 'rb') as output:
    output.seek(0, 2)
    output.seek(max(0, output.tell() - 8000))
    tail = output.read().decode('utf-8', 'replace')
say(encoded({'ended': why, 'code': program.returncode, 'tail': tail}))
`;
