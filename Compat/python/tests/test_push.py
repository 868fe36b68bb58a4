"""push(): from tokens to answers in one call; and the name `ferry`."""
import os
import shutil
import tempfile
import textwrap
import unittest

import ferry
from support import RULES, Simulator, run, tokens

BODY = {"aps": {"alert": u"H\u00e9"}}
TOKENS = ["00ff", "bad0", "909e", "dead", "<00bd 1234>", "zz", "0", "", None, "00" * 101, "AABB"]


def push(to, **options):
    return ferry.push(to, BODY, backend="echo", **options)


class Answers(unittest.TestCase):
    def test_each_token_has_its_answer_in_the_order_of_the_tokens(self):
        answers = push(TOKENS)
        self.assertEqual([answer.token for answer in answers], TOKENS)
        self.assertEqual([answer.outcome for answer in answers],
                         ["accepted", "rejected", "rejected", "undelivered", "uncertain"] + ["rejected"] * 5 + ["accepted"])
        self.assertEqual([answer.reason for answer in answers],
                         [None, "BadDeviceToken", "Unregistered", "noConnection", "positionUnknown"]
                         + ["BadDeviceToken"] * 5 + [None])
        self.assertEqual([answer.status for answer in answers], [None, 400, 410] + [None] * 8)
        self.assertEqual([answer.accepted for answer in answers], [True] + [False] * 9 + [True])

    def test_one_token_has_one_answer_which_is_a_sentence(self):
        for token in ("bad0", u"bad0"):
            self.assertTrue(str(push(token)).startswith("rejected: BadDeviceToken (400). The device token is invalid"))
        self.assertEqual(str(push("00ff")), "accepted (confirmed)")

    def test_no_tokens_have_no_answers(self):
        self.assertEqual(push([]), [])
        self.assertEqual(push(iter(["00ff"]))[0].outcome, "accepted")

    def test_more_tokens_than_there_is_room_for_all_have_answers(self):
        answers = push(tokens(1000), queueLimit=50)
        self.assertEqual({answer.outcome for answer in answers}, {"accepted"})
        self.assertEqual(len(answers), 1000)

    def test_a_notification_that_cannot_be_packed_raises(self):
        for options in (dict(push_type="none"), dict(priority=256), dict(expiration=-1), dict(collapse_id="x" * 256)):
            with self.assertRaises(ValueError):
                push("00ff", **options)
        with self.assertRaises(ValueError):
            ferry.push("00ff", {"a": "x" * 70000}, backend="echo")

    def test_a_wrong_option_raises_one_sentence(self):
        with self.assertRaises(ferry.FerryError) as raised:
            push("00ff", colour=1)
        self.assertIn("colour", str(raised.exception))
        self.assertIsNone(getattr(raised.exception, "__context__", None))

    def test_more_sets_of_options_than_providers_can_be_shared_are_served(self):
        for number in range(70):
            self.assertTrue(push("00ff", queue_limit=100 + number).accepted)


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.simulator = Simulator(RULES)

    @classmethod
    def tearDownClass(cls):
        cls.simulator.stop()

    def options(self, **more):
        return self.simulator.options("http2", cert=self.simulator.cert, **more)

    def test_answers_have_the_words_the_identifier_and_the_time_of_apns(self):
        accepted, bad, gone = ferry.push(tokens(1) + ["bad0" * 16, "909e" * 16], '{"aps":{}}', self.options(),
                                         priority=5, push_type="background", collapse_id="c", expiration=0)
        self.assertEqual((accepted.outcome, len(accepted.apns_id)), ("accepted", 36))
        self.assertEqual((bad.reason, bad.status, len(bad.apns_id)), ("BadDeviceToken", 400, 36))
        self.assertEqual((gone.reason, gone.timestamp), ("Unregistered", 1700000000000))

    def test_a_loop_of_calls_uses_one_connection(self):
        self.assertTrue(all(ferry.push(token, BODY, self.options()).accepted for token in tokens(20, 100)))

    def test_what_is_not_given_comes_from_the_environment_and_credentials_never_mix(self):
        options = self.options()
        key = os.path.join(os.path.dirname(options["ca"]), "token-key.p8")
        variables = {"FERRY_HOST": "localhost", "FERRY_PORT": str(options["port"]), "FERRY_CA": options["ca"],
                     "FERRY_TOPIC": "com.example.ferry", "FERRY_P8": key, "FERRY_KEY_ID": "FERRYKEY01",
                     "FERRY_TEAM_ID": "FERRYTEAM1"}
        code = """
            import ferry
            print(ferry.push("%s", {"aps": {}}))
            print(ferry.push("%s", {"aps": {}}, cert="%s"))
            """ % (tuple(tokens(2, 200)) + (options["cert"],))
        self.assertEqual(run(code, **variables), (0, ["accepted (confirmed)"] * 2, ""))

    def test_a_server_that_is_not_there_is_an_answer_in_time(self):
        answer = ferry.push("00ff", BODY, dict(self.options(), port=1), deadline=1)
        self.assertEqual((answer.outcome, answer.reason), ("undelivered", "noConnection"))
        self.assertTrue(str(answer).startswith("undelivered"), answer)


class Page(unittest.TestCase):
    def test_the_first_lines_of_the_page_run(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(ferry.__file__)), "..", "README.md"), "rb") as file:
            page = file.read().decode("utf-8")
        code = page.split("## Send", 1)[1].split("```python\n", 1)[1].split("```", 1)[0]
        self.assertEqual(len(code.splitlines()), 3)
        self.assertEqual(run(code, FERRY_BACKEND="echo"), (0, ["accepted (confirmed)"], ""))


class Name(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.modules = os.path.dirname(os.path.abspath(ferry.__file__))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def other(self, path):
        path = os.path.join(self.folder, path)
        if not os.path.isdir(os.path.dirname(path)):
            os.mkdir(os.path.dirname(path))
        with open(path, "w") as file:
            file.write("NAME = 'another'\n")

    def test_ferry_is_another_name_of_ferry_apns(self):
        self.assertEqual(run("import ferry, ferry_apns\nprint(ferry is ferry_apns)\n")[1], ["True"])

    def test_another_module_of_the_name_wins_wherever_it_stands(self):
        for path in ("ferry.py", "ferry/__init__.py"):
            self.other(path)
            code = """
                import sys
                sys.path.append(%r)
                import ferry, ferry_apns
                from ferry import NAME
                print(ferry.NAME, NAME, ferry_apns.push.__name__)
                """ % self.folder
            status, lines, errors = run(textwrap.dedent(code).replace("print(", "print('%s %s %s' % (").rstrip() + ")\n")
            self.assertEqual((status, lines), (0, ["another another push"]), errors)
            shutil.rmtree(self.folder)
            os.mkdir(self.folder)

    def test_a_second_copy_of_the_package_is_no_other_module(self):
        copy = os.path.join(self.folder, "copy")
        shutil.copytree(os.path.join(self.modules, "..", "ferry_apns"), os.path.join(copy, "ferry_apns"))
        shutil.copy(os.path.join(self.modules, "..", "ferry.py"), copy)
        code = "import sys\nsys.path.append(%r)\nimport ferry, ferry_apns\nprint(ferry is ferry_apns)\n" % copy
        self.assertEqual(run(code)[1:], (["True"], ""))

    def test_a_folder_that_happens_to_have_the_name_is_no_other_module(self):
        os.mkdir(os.path.join(self.folder, "ferry"))
        code = "import sys\nsys.path.append(%r)\nimport ferry\nprint(ferry.__name__)\n" % self.folder
        self.assertEqual(run(code)[1], ["ferry_apns"])


if __name__ == "__main__":
    unittest.main()
