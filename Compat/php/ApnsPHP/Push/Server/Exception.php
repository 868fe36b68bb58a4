<?php

class ApnsPHP_Push_Server_Exception extends ApnsPHP_Push_Exception
{
}
